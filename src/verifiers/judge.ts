import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Verdict, Verifier } from '../../streams/ports.ts'
import type { Rollout } from '../../topics/index.ts'

/** A response that a verifier's author knows the verdict of. */
export interface Sample {
  readonly response: string
  readonly truth: unknown
}

/** Tried before a verifier may judge: good ones must score at least 0.5, bad ones less. */
export interface Samples {
  readonly good: readonly Sample[]
  readonly bad: readonly Sample[]
}

/** A verifier that needs only the response's text and the ground truth: the same judgement serves evaluation. */
export interface RuleVerifier extends Verifier {
  /** Pure, and never throws: a crash inside is a `failed` verdict, never a judgement of the text. */
  judge(text: string, groundTruth: unknown): Verdict
  readonly samples: Samples
}

export interface RuleSpec {
  name: string
  version: string
  /** URLs of the source files that decide: they make up the code hash, together with `options`. */
  sources: readonly string[]
  options?: Readonly<Record<string, unknown>>
  /** At least one of each. */
  samples: Samples
  /** May throw. */
  judge(text: string, groundTruth: unknown): Verdict
}

export function ruleVerifier(spec: RuleSpec): RuleVerifier {
  const judge = (text: string, groundTruth: unknown): Verdict => {
    try {
      return spec.judge(text, groundTruth)
    } catch (error) {
      return failed(spec.name, `crashed: ${String(error)}`)
    }
  }
  return Object.freeze({
    name: spec.name,
    version: spec.version,
    codeHash: codeHash(spec.sources, spec.options ?? {}),
    judge,
    samples: spec.samples,
    async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
      signal.throwIfAborted()
      return judge(rollout.responseText, rollout.groundTruth)
    },
  })
}

/** sha256 over the files' contents, in order, and the options. */
export function codeHash(sources: readonly string[], options: Readonly<Record<string, unknown>>): string {
  const sum = createHash('sha256')
  for (const url of [import.meta.url, ...sources]) {
    const content = readFileSync(new URL(url))
    sum.update(`${content.length}\n`).update(content)
  }
  return sum.update(JSON.stringify(options)).digest('hex')
}

/** A ground truth that the verifier cannot read: the fault of the task, not of the text. */
export function badTruth(verifier: string, why: string): Verdict {
  return failed(verifier, `ground truth: ${why}`)
}

/** Rules are pure: there is no use in trying again. */
function failed(verifier: string, why: string): Verdict {
  return {
    outcome: 'failed',
    code: 'VERIFIER_FAILED',
    message: `verifier ${verifier}: ${why}`,
    retryable: false,
  }
}
