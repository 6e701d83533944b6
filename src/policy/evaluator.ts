import type { Clock, Evaluator, Verdict, Verifier } from '../../streams/ports.ts'
import { CascadeError, type Checkpoint, type Evaluation } from '../../topics/index.ts'
import { tokenizer } from '../model/tokenizer/index.ts'
import type { HeldOutPrompt, TaskSource } from '../tasks/source.ts'
import { asRollout } from '../verifiers/as-rollout.ts'
import type { VersionedEngine } from './versioned-engine.ts'
import { wilson } from './wilson.ts'

export interface EvaluatorOptions {
  versioned: VersionedEngine
  source: TaskSource
  /** Held-out prompts a domain. */
  prompts: number
  /** Tokens of a response at most. @default the longest response of the domain's task */
  maxTokens?: number | undefined
  /** Judge what the tasks name. @throws where none has this name */
  verifiers: { current(name: string): Verifier }
  clock: Clock
  signal: AbortSignal
}

/** Greedy accuracy on held-out prompts, with the weights that the engine of this process holds. */
export function localEvaluator(options: EvaluatorOptions): Evaluator {
  const { versioned, source, clock, signal } = options
  return {
    /** @throws `POLICY_VERSION` where other weights are loaded; `VERIFIER_FAILED`: an error is not a wrong answer */
    async evaluate(checkpoint: Checkpoint, stage: string, domain: string): Promise<Evaluation> {
      if (versioned.version !== checkpoint.version) {
        throw new CascadeError(
          'POLICY_VERSION',
          `evaluation of ${domain} after ${stage}: expected version ${checkpoint.version}, got ${versioned.version}`,
        )
      }
      const begun = clock.now()
      const prompts = source.heldOut(domain, options.prompts)
      const maxTokens = options.maxTokens ?? source.limits(domain).responseTokens
      const answers = await Promise.all(
        prompts.map((p, i) => answer(versioned, source, p.promptTokens, maxTokens, i, signal)),
      )
      const judged = await Promise.all(
        answers.map((a, i) => verdictOn(options, prompts[i]!, a, { checkpoint, stage, domain })),
      )
      // In the order of the prompts: of several errors it is always the same that is told.
      const verdicts = Uint8Array.from(judged, (verdict, i) => (passes(prompts[i]!, verdict) ? 1 : 0))
      const passed = verdicts.reduce((sum, v) => sum + v, 0)
      const n = prompts.length
      return {
        id: `${stage}/${domain}`,
        stage,
        domain,
        version: checkpoint.version,
        checkpoint: checkpoint.id,
        split: 'held-out',
        metric: 'greedy-accuracy',
        n,
        passed,
        score: passed / n,
        interval: wilson(passed / n, n),
        verdicts,
        responseLength: answers.reduce((sum, a) => sum + a.tokens.length, 0) / n,
        truncated: answers.filter((a) => a.finishReason === 'length').length,
        durationMs: Math.max(0, clock.now() - begun),
      }
    },
  }
}

interface Answer {
  readonly tokens: Int32Array
  readonly finishReason: string
}

async function answer(
  { engine }: VersionedEngine,
  source: TaskSource,
  prompt: Int32Array,
  maxTokens: number,
  index: number,
  signal: AbortSignal,
): Promise<Answer> {
  const sampling = {
    temperature: 0,
    topP: 1,
    topK: 0,
    maxTokens,
    stopTokens: [...source.stopTokens],
    logprobsMode: 'raw' as const,
  }
  const rows: Answer[] = []
  const seed = { run: 0, stage: 'evaluation', admission: index }
  await engine.generate({ prompt, rows: 1, sampling, seed }, (_, row) => rows.push(row), signal)
  const [row] = rows
  if (!row)
    throw new CascadeError('ENGINE_FAILED', `evaluation: expected a response to prompt ${index}, got none`)
  return row
}

/** An error is a verdict too. @throws the signal's reason */
async function verdictOn(
  { verifiers, signal }: EvaluatorOptions,
  prompt: HeldOutPrompt,
  { tokens, finishReason }: Answer,
  of: { checkpoint: Checkpoint; stage: string; domain: string },
): Promise<Verdict> {
  const { promptId, promptText, promptTokens, groundTruth, verifier: name } = prompt
  const { checkpoint, stage, domain } = of
  const rollout = asRollout({
    id: `${stage}/${domain}/${promptId}`,
    stage,
    domain,
    promptId,
    policyVersion: checkpoint.version,
    promptText,
    promptTokens,
    responseText: tokenizer.decode(tokens),
    responseTokens: tokens,
    status: finishReason === 'length' ? 'truncated' : 'completed',
    groundTruth,
    verifier: name,
  })
  try {
    return await verifiers.current(name).verify(rollout, signal)
  } catch (error) {
    signal.throwIfAborted()
    const message = error instanceof Error ? error.message : String(error)
    return { outcome: 'failed', code: 'VERIFIER_FAILED', message, retryable: false }
  }
}

/** A full score passes. @throws CascadeError VERIFIER_FAILED for an error */
function passes({ promptId }: HeldOutPrompt, verdict: Verdict): boolean {
  if (verdict.outcome !== 'failed') return verdict.score >= 1
  throw new CascadeError('VERIFIER_FAILED', `evaluation of ${promptId}: ${verdict.message}`)
}
