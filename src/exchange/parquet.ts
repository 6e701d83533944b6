import type { SchemaElement } from 'hyparquet-writer'
import { type Exported, judge, knows, verdictOf } from './foreign.ts'

/** A column: its name, what it holds, and its value of a rollout. What is not known is null. */
interface Column {
  readonly name: string
  readonly type: 'text' | 'int32' | 'double' | 'int32s' | 'floats'
  of(exported: Exported): unknown
}

const known =
  <T>(field: Parameters<typeof knows>[1], read: (of: Exported) => T) =>
  (of: Exported): T | null =>
    knows(of, field) ? read(of) : null

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/** In the order of the file. Names are those of the topics, in snake case, as Python reads them. */
export const columns: readonly Column[] = [
  { name: 'id', type: 'text', of: (e) => e.rollout.id },
  { name: 'group_id', type: 'text', of: (e) => e.rollout.groupId },
  { name: 'group_size', type: 'int32', of: (e) => e.rollout.groupSize },
  { name: 'index', type: 'int32', of: (e) => e.rollout.index },
  { name: 'stage', type: 'text', of: (e) => e.rollout.stage },
  { name: 'domain', type: 'text', of: (e) => e.rollout.domain },
  { name: 'dataset', type: 'text', of: (e) => e.rollout.dataset },
  { name: 'prompt_id', type: 'text', of: (e) => e.rollout.promptId },
  { name: 'step', type: 'int32', of: (e) => e.rollout.step },
  { name: 'admission', type: 'int32', of: (e) => e.rollout.admission },
  { name: 'policy_version', type: 'int32', of: known('policyVersion', (e) => e.rollout.policyVersion) },
  { name: 'prompt', type: 'text', of: known('promptText', (e) => e.rollout.promptText) },
  { name: 'response', type: 'text', of: (e) => e.rollout.responseText },
  { name: 'ground_truth', type: 'text', of: known('groundTruth', (e) => json(e.rollout.groundTruth)) },
  { name: 'messages', type: 'text', of: (e) => json(e.rollout.messages) },
  { name: 'outcome', type: 'text', of: (e) => verdictOf(e.reward) ?? null },
  { name: 'reward', type: 'double', of: (e) => e.reward?.score ?? null },
  { name: 'reason', type: 'text', of: (e) => e.reward?.reason ?? null },
  { name: 'verifier', type: 'text', of: (e) => judge(e)?.verifier ?? null },
  { name: 'verifier_version', type: 'text', of: (e) => judge(e)?.version ?? null },
  { name: 'verifier_code_hash', type: 'text', of: (e) => judge(e)?.codeHash ?? null },
  { name: 'detail', type: 'text', of: (e) => json(judge(e)?.detail) },
  { name: 'finish_reason', type: 'text', of: known('finishReason', (e) => e.rollout.finishReason) },
  { name: 'status', type: 'text', of: known('status', (e) => e.rollout.status) },
  { name: 'temperature', type: 'double', of: known('sampling', (e) => e.rollout.sampling.temperature) },
  { name: 'sampling', type: 'text', of: known('sampling', (e) => json(e.rollout.sampling)) },
  { name: 'version_spans', type: 'text', of: known('versionSpans', (e) => json(e.rollout.versionSpans)) },
  {
    name: 'prompt_tokens',
    type: 'int32s',
    of: known('promptTokens', (e) => Array.from(e.rollout.promptTokens)),
  },
  {
    name: 'response_tokens',
    type: 'int32s',
    of: known('responseTokens', (e) => Array.from(e.rollout.responseTokens)),
  },
  {
    name: 'response_logprobs',
    type: 'floats',
    of: known('responseLogprobs', (e) => Array.from(e.rollout.responseLogprobs)),
  },
  { name: 'loss_mask', type: 'int32s', of: known('responseTokens', (e) => Array.from(e.rollout.lossMask)) },
  {
    name: 'ref_logprobs',
    type: 'floats',
    of: (e) => (e.rollout.refLogprobs ? Array.from(e.rollout.refLogprobs) : null),
  },
]

/** Every column may be null; lists are Parquet's three-level ones, as all readers know them. */
export const schema: SchemaElement[] = [
  { name: 'rollouts', num_children: columns.length },
  ...columns.flatMap(({ name, type }) => elements(name, type)),
]

function elements(name: string, type: Column['type']): SchemaElement[] {
  const optional = { name, repetition_type: 'OPTIONAL' } as const
  if (type === 'text') return [{ ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' }]
  if (type === 'int32') return [{ ...optional, type: 'INT32' }]
  if (type === 'double') return [{ ...optional, type: 'DOUBLE' }]
  return [
    { ...optional, converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'REQUIRED', type: type === 'floats' ? 'FLOAT' : 'INT32' },
  ]
}

/** Column by column. */
export function columnsOf(rows: readonly Exported[]): { name: string; data: unknown[] }[] {
  return columns.map(({ name, of }) => ({ name, data: rows.map(of) }))
}
