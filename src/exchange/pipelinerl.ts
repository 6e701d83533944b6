import { type Exported, type ForeignRollout, type Format, hasTokens, knows, type Place } from './foreign.ts'
import { Row, RowFault, shown } from './row.ts'

/**
 * PipelineRL's stream `actor` (`streams/actor/…/0.jsonl`): a line is the list of the `TrainingText`s of one group; a single one is read
 * as well. `labels` are -100 where the policy did not sample the token, `logprobs` belong to the last tokens, and `n_predicted` counts
 * characters of the text (Python's: code points), whatever its description says. No ground truth.
 *
 * `pipelinerl/rollouts.py` (class TrainingText) and `pipelinerl/async_llm.py` (make_training_text), ServiceNow/PipelineRL.
 */
export const pipelinerl: Format = {
  name: 'pipelinerl',
  summary: 'stream actor of PipelineRL: a list of TrainingText a line, with tokens and log-probabilities',
  scoredOnly: true,
  read(line, place) {
    const ignored = new Set<string>()
    const one = (value: unknown, path: string) => {
      const row = new Row(value, path)
      const rollout = trainingText(row)
      for (const name of Object.keys(row.rest())) ignored.add(name)
      return { row, rollout }
    }
    if (Array.isArray(line)) {
      const group = groupOfLine(place)
      const rollouts = line.map((value, i) => ({ ...one(value, `[${i}]`).rollout, group }))
      return { rollouts, ignored: [...ignored] }
    }
    const { row, rollout } = one(line, '')
    const group = row.optional('group_id', row.name)
    return { rollouts: [group === undefined ? rollout : { ...rollout, group }], ignored: [...ignored] }
  },
  write: (members) => [members.map(trainingTextOf)],
}

const masked = -100

/** A line is a whole group; ids in it begin again after a restart. */
function groupOfLine({ file, line }: Place): string {
  return `${file}:${line}`
}

function trainingText(row: Row): ForeignRollout {
  row.any('group_id')
  row.any('prompt_tokens')
  row.any('output_tokens')
  const [prompt, response] = split(row.text('text'), row.count('n_predicted'), row.named('n_predicted'))
  const metadata = row.optional('metadata', row.row)
  const policyVersion = metadata?.optional('model_version', metadata.count)
  const finished = row.optional('finished', row.flag)
  return {
    prompt,
    response,
    ...tokensOfText(row),
    ...(policyVersion === undefined ? {} : { policyVersion }),
    ...(finished === undefined
      ? {}
      : ({
          finishReason: finished ? 'stop' : 'length',
          status: finished ? 'completed' : 'truncated',
        } as const)),
    reward: { outcome: 'score', score: row.optional('reward', row.number) ?? 0 },
  }
}

/** The last `characters` code points are the response. */
function split(text: string, characters: number, field: string): [string, string] {
  let at = text.length
  for (let left = characters; left > 0; left--) {
    if (at === 0) throw new RowFault(field, 'at most as many characters as the text has', String(characters))
    const pair = at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2))
    at -= pair ? 2 : 1
  }
  return [text.slice(0, at), text.slice(at)]
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

type Tokens = Pick<
  ForeignRollout,
  'promptTokens' | 'responseTokens' | 'logprobs' | 'lossMask' | 'refLogprobs'
>

function tokensOfText(row: Row): Tokens {
  const ids = row.optional('input_ids', row.tokens)
  const labels = row.optional('labels', row.list)
  const logprobs = row.optional('logprobs', row.floats)
  const refs = row.optional('ref_logprobs', row.floats)
  if (!ids || ids.length === 0) return {}
  if (labels?.length !== ids.length) {
    throw new RowFault(
      row.named('labels'),
      `${ids.length} labels, one a token`,
      `${labels?.length ?? 'nothing'}`,
    )
  }
  const odd = labels.findIndex((label) => !Number.isInteger(label))
  if (odd >= 0) throw new RowFault(`${row.named('labels')}[${odd}]`, 'a token id or -100', shown(labels[odd]))
  const first = labels.findIndex((label) => label !== masked)
  const sampled = first < 0 ? 0 : ids.length - first
  const known = logprobs !== undefined && logprobs.length > 0
  const length = known ? logprobs.length : sampled
  if (length < sampled || length > ids.length) {
    const expected = `at least ${sampled}, one for every token from the first trained one on, and at most ${ids.length}`
    throw new RowFault(row.named('logprobs'), expected, String(length))
  }
  const begin = ids.length - length
  const lossMask = Uint8Array.from(labels.slice(begin), (label) => (label === masked ? 0 : 1))
  if (refs !== undefined && refs.length !== 0 && refs.length !== length) {
    throw new RowFault(
      row.named('ref_logprobs'),
      `${length} values, as many as logprobs`,
      String(refs.length),
    )
  }
  return {
    promptTokens: ids.slice(0, begin),
    responseTokens: ids.slice(begin),
    lossMask,
    ...(known || length === 0 ? { logprobs: logprobs ?? new Float32Array(0) } : {}),
    ...(refs !== undefined && refs.length > 0 ? { refLogprobs: refs } : {}),
  }
}

function trainingTextOf(of: Exported): Record<string, unknown> {
  const { rollout: r, reward } = of
  const tokens = hasTokens(of)
  const prompt = tokens ? Array.from(r.promptTokens) : []
  const response = tokens ? Array.from(r.responseTokens) : []
  return {
    text: r.promptText + r.responseText,
    n_predicted: codePoints(r.responseText),
    reward: reward!.score,
    logprobs: tokens && knows(of, 'responseLogprobs') ? Array.from(r.responseLogprobs) : [],
    ref_logprobs: r.refLogprobs ? Array.from(r.refLogprobs) : [],
    input_ids: [...prompt, ...response],
    labels: [...prompt.map(() => masked), ...response.map((id, i) => (r.lossMask[i] === 1 ? id : masked))],
    group_id: r.groupId,
    finished: knows(of, 'finishReason') ? r.finishReason !== 'length' : undefined,
    prompt_tokens: prompt.length,
    output_tokens: response.length,
    metadata: {
      model_version: knows(of, 'policyVersion') ? r.policyVersion : undefined,
      rollout_index: r.index,
    },
  }
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
