import { type Message, message, type Sampling, sampling, type VersionSpan } from '../../topics/index.ts'
import {
  type Exported,
  type ForeignReward,
  type ForeignRollout,
  type Format,
  judge,
  knows,
  verdictOf,
} from './foreign.ts'
import { Row, RowFault, shown } from './row.ts'

/**
 * Cascade's own plain format, one rollout a line. Only `prompt` (a text, or a list of messages) and `response` are needed. What it
 * holds and loses: `docs/exchange.md`.
 */
export const plain: Format = {
  name: 'plain',
  summary: 'one rollout a line; needs only prompt and response',
  scoredOnly: false,
  read(line) {
    const row = new Row(line)
    const rollout = readPlain(row)
    return { rollouts: [rollout], ignored: Object.keys(row.rest()) }
  },
  write: (members) => members.map(plainRow),
}

const finishReasons = ['stop', 'length', 'tool_calls', 'abort'] as const
const statuses = ['completed', 'truncated', 'aborted', 'failed'] as const
const outcomes = ['score', 'unparsable', 'error'] as const

function readPlain(row: Row): ForeignRollout {
  const asked = row.any('prompt')
  const messages = Array.isArray(asked)
    ? messagesOf(asked, 'prompt')
    : row.optional('messages', (name) => messagesOf(row.list(name), name))
  const prompt = Array.isArray(asked)
    ? messages!.map((m) => `${m.role}: ${m.content}`).join('\n')
    : row.text('prompt')
  const responseTokens = row.optional('responseTokens', row.tokens)
  return {
    group: groupOf(row),
    step: row.optional('step', row.count),
    promptId: row.optional('promptId', row.name),
    dataset: row.optional('dataset', row.text),
    prompt,
    response: row.text('response'),
    promptTokens: row.optional('promptTokens', row.tokens),
    responseTokens,
    logprobs: aligned(row, 'logprobs', row.floats, responseTokens),
    lossMask: aligned(row, 'lossMask', row.mask, responseTokens),
    refLogprobs: aligned(row, 'refLogprobs', row.floats, responseTokens),
    policyVersion: row.optional('policyVersion', row.count),
    versionSpans: row.optional('versionSpans', (name) =>
      row.list(name).map((v, i) => spanOf(v, `${name}[${i}]`)),
    ),
    messages,
    groundTruth: row.any('groundTruth'),
    finishReason: row.optional('finishReason', (name) => row.oneOf(name, finishReasons)),
    status: row.optional('status', (name) => row.oneOf(name, statuses)),
    sampling: row.optional('sampling', (name) => samplingOf(row.any(name), name)),
    reward: rewardOf(row),
  }
}

function groupOf(row: Row): string | undefined {
  const group = row.any('group')
  return group === undefined || typeof group === 'number' ? group?.toString() : row.name('group')
}

function rewardOf(row: Row): ForeignReward | undefined {
  const score = row.optional('reward', row.number)
  const outcome =
    row.optional('outcome', (name) => row.oneOf(name, outcomes)) ??
    (score === undefined ? undefined : 'score')
  const said = {
    verifier: row.optional('verifier', row.name),
    version: row.optional('verifierVersion', row.name),
    reason: row.optional('reason', row.name),
    detail: row.any('detail'),
  }
  if (outcome === undefined) return undefined
  if ((outcome === 'error') !== (score === undefined)) {
    const expected =
      outcome === 'error' ? 'none on an error, which has no score' : `a number beside outcome ${outcome}`
    throw new RowFault('reward', expected, shown(score))
  }
  return { outcome, score, ...said }
}

/** One value a response token. */
function aligned<T extends ArrayLike<number>>(
  row: Row,
  name: string,
  read: (name: string) => T,
  tokens: Int32Array | undefined,
): T | undefined {
  const values = row.optional(name, read)
  if (values !== undefined && values.length !== (tokens?.length ?? -1)) {
    const expected = tokens ? `${tokens.length} values, one a response token` : 'none without responseTokens'
    throw new RowFault(name, expected, `${values.length}`)
  }
  return values
}

function messagesOf(list: readonly unknown[], field: string): Message[] {
  return list.map((value, i) => {
    const parsed = message.safeParse(value)
    if (parsed.success) return parsed.data
    throw new RowFault(`${field}[${i}]`, 'a message {role, content}', shown(value))
  })
}

function spanOf(value: unknown, field: string): VersionSpan {
  const row = new Row(value, field)
  return { version: row.count('version'), start: row.count('start'), end: row.count('end') }
}

function samplingOf(value: unknown, field: string): Sampling {
  const parsed = sampling.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  throw new RowFault([field, ...issue.path].join('.'), issue.message.replace(/^expected /, ''), shown(value))
}

function plainRow(of: Exported): Record<string, unknown> {
  const { rollout: r, reward } = of
  const only = <T>(field: Parameters<typeof knows>[1], value: T) => (knows(of, field) ? value : undefined)
  const by = judge(of)
  const masked = r.lossMask.includes(0)
  return {
    id: r.id,
    group: r.groupId,
    index: r.index,
    step: r.step,
    promptId: r.promptId,
    dataset: r.dataset,
    prompt: r.promptText,
    response: r.responseText,
    groundTruth: only('groundTruth', r.groundTruth),
    reward: reward?.score ?? null,
    outcome: verdictOf(reward) ?? null,
    reason: reward?.reason,
    verifier: by?.verifier,
    verifierVersion: by?.version,
    detail: by?.detail,
    finishReason: only('finishReason', r.finishReason),
    status: only('status', r.status),
    policyVersion: only('policyVersion', r.policyVersion),
    versionSpans: only('versionSpans', r.versionSpans),
    sampling: only('sampling', r.sampling),
    messages: r.messages,
    promptTokens: only('promptTokens', Array.from(r.promptTokens)),
    responseTokens: only('responseTokens', Array.from(r.responseTokens)),
    logprobs: only('responseLogprobs', Array.from(r.responseLogprobs)),
    lossMask: masked ? Array.from(r.lossMask) : undefined,
    refLogprobs: r.refLogprobs && Array.from(r.refLogprobs),
  }
}
