import { z } from 'zod'

/** Pieces that several topics share. Objects are loose: a field of a newer build survives a round trip. */

export const int32s = z.custom<Int32Array>((v) => v instanceof Int32Array, 'expected an Int32Array')
export const bytes = z.custom<Uint8Array>((v) => v instanceof Uint8Array, 'expected a Uint8Array')

/** Float32Array without NaN or infinity: a bad number is stopped at the topic's edge, not in the loss. */
export const float32s = z.custom<Float32Array>(
  (v) => v instanceof Float32Array && allFinite(v),
  'expected a Float32Array of finite numbers',
)

/** One look at the end, since every token comes by: a NaN stays the most. */
function allFinite(values: Float32Array): boolean {
  let most = 0
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]!))
  return Number.isFinite(most)
}

export const finite = z.number().refine(Number.isFinite, 'expected a finite number')
export const count = z.int().min(0)

/** `processed`: after temperature, over the whole vocabulary. `raw`: at temperature 1. */
export const logprobsMode = z.enum(['processed', 'raw'])
export type LogprobsMode = z.infer<typeof logprobsMode>

export const sampling = z.looseObject({
  /** 0 means greedy. */
  temperature: finite.min(0),
  topP: finite.gt(0).max(1),
  /** 0 means no limit. */
  topK: count,
  maxTokens: z.int().min(1),
  stopTokens: z.array(z.int()),
  logprobsMode,
})
export type Sampling = z.infer<typeof sampling>

/** Tokens `[start, end)` of a response were sampled from policy `version`. */
export const versionSpan = z.object({ version: count, start: count, end: count })
export type VersionSpan = z.infer<typeof versionSpan>

export const finishReason = z.enum(['stop', 'length', 'tool_calls', 'abort'])
export type FinishReason = z.infer<typeof finishReason>

/** A turn of a conversation; with `parent` (an index into the same list) the list is a tree. */
export const message = z.looseObject({ role: z.string(), content: z.string(), parent: count.optional() })
export type Message = z.infer<typeof message>

/** Milliseconds a rollout spent in each part of its life, as far as the writer of the record knows. */
export const timings = z.looseObject({
  queued: finite.optional(),
  generate: finite.optional(),
  verify: finite.optional(),
  wait: finite.optional(),
  train: finite.optional(),
})
export type Timings = z.infer<typeof timings>

/**
 * Fields of a record that its source says nothing about, as that of imported rollouts: they hold a placeholder (nothing, 0, `stop`), which
 * nobody may take for a fact. Not there: every field is known.
 */
export const absent = z.array(z.string()).optional()

/** What identifies a group: one admitted visit of one prompt. */
export const groupIdentity = {
  groupId: z.string().min(1),
  groupSize: z.int().min(1),
  stage: z.string().min(1),
  domain: z.string().min(1),
  dataset: z.string(),
  promptId: z.string().min(1),
  epoch: count,
  step: z.int().min(1),
  /** Index of the admission within its stage, from 0. */
  admission: count,
  /** How often this prompt was admitted before in this stage. */
  visit: count,
  policyVersion: count,
} as const
