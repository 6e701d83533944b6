import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Verdict } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import type { Sample } from '../judge.ts'
import type { Judge } from '../pool/index.ts'

/**
 * What a verifier's module exports: `judge(response, truth)`, or by default a function of the options that returns one or an object with
 * one. It answers with a number, or a verdict. `version` and `samples: {good, bad}` may stand beside it.
 */
export type UserJudge = (
  response: string,
  truth: unknown,
  rollout: Rollout | undefined,
  signal: AbortSignal,
) => number | Verdict | Promise<number | Verdict>

const verdictSchema = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('score'), score: z.number(), detail: z.unknown().optional() }),
  z.object({ outcome: z.literal('unparsable'), score: z.number(), detail: z.unknown().optional() }),
  z.object({
    outcome: z.literal('failed'),
    code: z.string(),
    message: z.string(),
    retryable: z.boolean(),
  }),
])

const samplesSchema = z.object({
  good: z.array(z.looseObject({ response: z.string(), truth: z.unknown() })),
  bad: z.array(z.looseObject({ response: z.string(), truth: z.unknown() })),
})

/** What a pool's process is asked. */
export type UserRequest =
  | { readonly kind: 'rollout'; readonly rollout: Rollout }
  | { readonly kind: 'sample'; readonly sample: Sample }
  /** Answers with version and samples as the detail of a verdict. */
  | { readonly kind: 'about' }

export const aboutSchema = z.object({
  version: z.string().nullable(),
  samples: samplesSchema.nullable(),
})
export type About = z.infer<typeof aboutSchema>

/** A judge of a stored module, as a pool's process makes it. @throws where the module has no verifier */
export async function openUserVerifier({
  file,
  options,
}: {
  file: string
  options: unknown
}): Promise<Judge> {
  const module: Record<string, unknown> & { default?: unknown } = await import(pathToFileURL(file).href)
  const call = typeof module.default === 'function' ? await module.default(options) : module
  const judge: unknown = typeof call === 'function' ? call : call?.judge
  if (typeof judge !== 'function') {
    throw new Error(
      'expected it to export judge(response, truth), or by default a function of the options that returns it',
    )
  }
  return {
    async judge(request, signal) {
      const asked = request as UserRequest
      if (asked.kind === 'about') return { outcome: 'score', score: 1, detail: aboutOf(module) }
      const [response, truth, rollout] =
        asked.kind === 'rollout'
          ? [asked.rollout.responseText, asked.rollout.groundTruth, asked.rollout]
          : [asked.sample.response, asked.sample.truth, undefined]
      return verdictOf(await (judge as UserJudge).call(call, response, truth, rollout, signal))
    },
  }
}

function aboutOf(module: Record<string, unknown>): About {
  const { version, samples } = module
  if (version !== undefined && typeof version !== 'string')
    throw new Error(`version: expected a string, got ${typeof version}`)
  return {
    version: version ?? null,
    samples: samples === undefined ? null : samplesSchema.parse(samples),
  }
}

function verdictOf(given: unknown): Verdict {
  if (typeof given === 'number') {
    if (Number.isFinite(given)) return { outcome: 'score', score: given }
    throw new Error(`expected a finite score, got ${given}`)
  }
  const parsed = verdictSchema.safeParse(given)
  if (parsed.success) return parsed.data
  throw new Error(`expected a number or a verdict, got ${JSON.stringify(given)?.slice(0, 100)}`)
}
