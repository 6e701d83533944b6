import { z } from 'zod'
import {
  absent,
  bytes,
  count,
  finishReason,
  finite,
  float32s,
  groupIdentity,
  int32s,
  logprobsMode,
  message,
  sampling,
  timings,
  versionSpan,
} from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

function lacksLogprobs(rollout: { absent?: readonly string[] | undefined }): boolean {
  return rollout.absent?.includes('responseLogprobs') ?? false
}

const perToken = ['responseLogprobs', 'lossMask', 'refLogprobs', 'teacherLogprobs'] as const

/** One sampled response of a group, with all that training or exporting it needs. */
export const rolloutSchema = z
  .looseObject({
    /** `<groupId>:<index>` */
    id: z.string().min(1),
    ...groupIdentity,
    index: count,
    /** Which try at this member, from 1; absent: the first. */
    attempt: z.int().min(1).optional(),
    promptTokens: int32s,
    responseTokens: int32s,
    /** Exactly one a response token; none at all where they are {@link absent}. */
    responseLogprobs: float32s,
    logprobsMode,
    /**
     * Nats a token, the response's mean: log-probability under the distribution that was drawn from (after top-p and top-k), less the
     * recorded one. 0 or absent where both are the same distribution.
     */
    mismatch: finite.optional(),
    /** 1 where the policy sampled the token, 0 on tokens of a tool or an environment. */
    lossMask: bytes,
    versionSpans: z.array(versionSpan),
    sampling,
    finishReason,
    status: z.enum(['completed', 'truncated', 'aborted', 'failed']),
    promptText: z.string(),
    responseText: z.string(),
    messages: z.array(message).optional(),
    groundTruth: z.unknown(),
    verifier: z.string().min(1),
    timings,
    traceId: z.string().optional(),
    /** One a response token, as those of a teacher. */
    refLogprobs: float32s.optional(),
    teacherLogprobs: float32s.optional(),
    /** Opaque: as the engine gave them. */
    routedExperts: bytes.optional(),
    absent,
  })
  // One check: each costs as much as a few fields.
  .superRefine((r, ctx) => {
    for (const field of perToken) {
      const expected = field === 'responseLogprobs' && lacksLogprobs(r) ? 0 : r.responseTokens.length
      if ((r[field]?.length ?? expected) === expected) continue
      const what = field === 'lossMask' ? 'mask entry' : 'log-probability'
      ctx.addIssue({ code: 'custom', message: `expected one ${what} a response token`, path: [field] })
    }
  })
export type Rollout = z.infer<typeof rolloutSchema>

export function rollouts(domain: string): Topic<Rollout> {
  return defineTopic<Rollout>({
    name: `rollouts.${domain}`,
    // Version 2 allows tokens without log-probabilities; a version-1 reader would take them for a fault.
    version: 2,
    schema: rolloutSchema,
    key: (r) => r.groupId,
    upcasters: { 1: (value) => value },
  })
}
