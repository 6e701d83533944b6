import { z } from 'zod'
import type { Verdict, Verifier } from '../../../streams/ports.ts'
import { CascadeError, type Rollout } from '../../../topics/index.ts'
import { codeHash } from '../judge.ts'
import { postJson } from './post-json.ts'

export const remoteOptions = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  name: z.string().min(1).default('remote'),
  /** What the server runs, as far as the user knows: rewards of another version are another verifier's. */
  version: z.string().min(1).default('1'),
  headers: z.record(z.string(), z.string()).default({}),
  timeoutMs: z.number().positive().default(60_000),
  attempts: z.int().min(1).default(4),
  backoffMs: z.number().min(0).default(500),
  maxWaitMs: z.number().min(0).default(60_000),
})
export type RemoteOptions = z.input<typeof remoteOptions>

/**
 * Asks a user's reward server: `POST {prompt, response, label}`, which answers a number, `{score}` or `{reward}` with anything
 * else as detail, or a whole verdict. An outage is a retryable error and a malformed answer an error for good; neither is ever a score.
 */
export function remote(given: RemoteOptions): Verifier {
  const parsed = remoteOptions.safeParse(given)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new CascadeError('CONFIG_INVALID', `remote verifier: ${path.join('.') || 'options'}: ${message}`)
  }
  // Headers hold secrets and decide no score.
  const { name, version, url, ...transport } = parsed.data
  return Object.freeze({
    name,
    version,
    codeHash: codeHash([import.meta.url], { name, version, url }),
    async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
      const { promptText, responseText, groundTruth } = rollout
      const body = { prompt: promptText, response: responseText, label: groundTruth ?? null }
      const result = await postJson(url, body, transport, signal)
      if (result.ok) return readAnswer(result.body, name)
      const { code, message, retryable } = result
      return { outcome: 'failed', code, message: `verifier ${name}: ${message}`, retryable }
    },
  })
}

const component = z.looseObject({
  verifier: z.string(),
  version: z.string(),
  codeHash: z.string(),
  outcome: z.enum(['score', 'unparsable']),
  score: z.number(),
  weight: z.number(),
})
const answer = z.union([
  z.number(),
  z.looseObject({
    outcome: z.literal('failed'),
    code: z.string(),
    message: z.string(),
    retryable: z.boolean(),
  }),
  z.looseObject({
    outcome: z.enum(['score', 'unparsable']),
    score: z.number(),
    components: z.array(component).optional(),
  }),
  z.looseObject({ outcome: z.undefined().optional(), score: z.number() }),
  z.looseObject({ outcome: z.undefined().optional(), reward: z.number() }),
])

/** An answer of a reward server as a verdict. */
export function readAnswer(body: unknown, name: string): Verdict {
  const parsed = answer.safeParse(body)
  if (!parsed.success) {
    return {
      outcome: 'failed',
      code: 'VERIFIER_FAILED',
      message: `verifier ${name}: expected a number, {score}, {reward} or a verdict, got ${JSON.stringify(body)?.slice(0, 200)}`,
      retryable: false,
    }
  }
  const given = parsed.data
  if (typeof given === 'number') return { outcome: 'score', score: given }
  if (given.outcome !== undefined) return given as Verdict
  const score = 'score' in given ? (given.score as number) : given.reward
  const { outcome: _, ...detail } = given
  return { outcome: 'score', score, detail }
}
