import type { Clock, Evaluator } from '../../streams/ports.ts'
import { CascadeError, type Checkpoint, type Evaluation } from '../../topics/index.ts'
import { tokenizer } from '../model/tokenizer/index.ts'
import type { TaskSource } from '../tasks/source.ts'
import { verifiers } from '../verifiers/index.ts'
import type { VersionedEngine } from './versioned-engine.ts'
import { wilson } from './wilson.ts'

export interface EvaluatorOptions {
  versioned: VersionedEngine
  source: TaskSource
  /** Held-out prompts a domain. */
  prompts: number
  /** Tokens of a response at most. @default the longest response of the domain's task */
  maxTokens?: number | undefined
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
      const verdicts = new Uint8Array(prompts.length)
      for (const [i, { tokens }] of answers.entries()) {
        verdicts[i] = passes(prompts[i]!, tokenizer.decode(tokens)) ? 1 : 0
      }
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

async function answer(
  { engine }: VersionedEngine,
  source: TaskSource,
  prompt: Int32Array,
  maxTokens: number,
  index: number,
  signal: AbortSignal,
) {
  const sampling = {
    temperature: 0,
    topP: 1,
    topK: 0,
    maxTokens,
    stopTokens: [...source.stopTokens],
    logprobsMode: 'raw' as const,
  }
  const rows: { tokens: Int32Array; finishReason: string }[] = []
  const seed = { run: 0, stage: 'evaluation', admission: index }
  await engine.generate({ prompt, rows: 1, sampling, seed }, (_, row) => rows.push(row), signal)
  const [row] = rows
  if (!row)
    throw new CascadeError('ENGINE_FAILED', `evaluation: expected a response to prompt ${index}, got none`)
  return row
}

/** A full score passes. */
function passes(prompt: { promptId: string; verifier: string; groundTruth: unknown }, text: string): boolean {
  const make = verifiers[prompt.verifier]
  const verdict = make?.().judge(text, prompt.groundTruth)
  if (!verdict || verdict.outcome === 'failed') {
    const why = verdict ? verdict.message : `no verifier ${prompt.verifier}`
    throw new CascadeError('VERIFIER_FAILED', `evaluation of ${prompt.promptId}: ${why}`)
  }
  return verdict.score >= 1
}
