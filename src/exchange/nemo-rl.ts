import { basename } from 'node:path'
import { type Exported, type ForeignRollout, type Format, hasTokens, knows, type Place } from './foreign.ts'
import { floatsOf, listOf, maskOf, numberOf, Row, RowFault, shown, textOf, tokensOf } from './row.ts'

/**
 * NeMo-RL's training log (`train_data_step{N}.jsonl`), one sample a line, every value in a list of one, since it is written from batches
 * of one; padded to the longest of its batch. `content` is the list of a sample's messages, without roles. No group ids and no ground truth.
 *
 * Of a conversation, what comes before the first sampled token is the prompt, and what comes after the last one (the environment's last
 * word) is left out. Where a file has no `token_loss_mask`, as those of older versions, messages are taken to alternate: prompt, response,
 * environment, response.
 *
 * `nemo_rl/algorithms/grpo.py` and `grpo_sync.py` (log_data), `nemo_rl/utils/logger.py` (log_batched_dict_as_jsonl),
 * `nemo_rl/data/llm_message_utils.py`, NVIDIA-NeMo/RL. With dynamic sampling `rewards` are those of all prompts, and not in the order of the
 * rows; `filtered_rewards` are the rows' own.
 */
export const nemoRl: Format = {
  name: 'nemo-rl',
  summary: 'train_data_step{N}.jsonl of NeMo-RL: texts, tokens, masks, log-probabilities, rewards',
  scoredOnly: true,
  read(line, place) {
    const row = new Row(line)
    for (const name of ['idx', 'rewards']) row.any(name)
    const rollout: ForeignRollout = {
      ...stepOf(place),
      ...sampleOf(row),
      reward: {
        outcome: 'score',
        score: numberOf(
          only(row.any(row.has('filtered_rewards') ? 'filtered_rewards' : 'rewards')),
          'rewards',
        ),
      },
    }
    return { rollouts: [rollout], ignored: Object.keys(row.rest()) }
  },
  write: (members, next) => members.map((of, i) => sampleRow(of, next + i)),
}

function stepOf({ file }: Place): { step?: number } {
  const found = /^train_data_step(\d{1,9})\.jsonl/.exec(basename(file))
  return found ? { step: Number(found[1]) } : {}
}

/** The value of a batch of one. */
function only(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value
}

/** A sample's list, which stands in the list of its batch. */
function listIn(row: Row, name: string): readonly unknown[] {
  const list = row.list(name)
  return list.length === 1 && Array.isArray(list[0]) ? list[0] : list
}

type Sample = Omit<ForeignRollout, 'reward' | 'step'>

function sampleOf(row: Row): Sample {
  const content = contentOf(row)
  const ids = row.optional('token_ids', (name) => listIn(row, name))
  const mask = row.optional('token_loss_mask', (name) => maskOf(listIn(row, name), name))
  if (!ids) return { ...byTurns(content), ...refuseLonelyMask(mask) }
  if (!mask) throw new RowFault('token_loss_mask', 'a list beside token_ids', 'nothing')
  const length = row.has('input_lengths')
    ? numberOf(only(row.any('input_lengths')), 'input_lengths')
    : ids.length
  const values = row.optional('generation_logprobs', (name) => listIn(row, name))
  for (const [name, list] of [
    ['token_ids', ids],
    ['token_loss_mask', mask],
    ['generation_logprobs', values ?? ids],
  ] as const) {
    if (list.length < length) {
      throw new RowFault(name, `at least ${length} values, as input_lengths says`, String(list.length))
    }
  }
  const turns = mask.subarray(0, length)
  const first = turns.indexOf(1)
  const begin = first < 0 ? length : first
  const end = turns.lastIndexOf(1) + 1 || length
  return {
    ...byMask(content, turns),
    promptTokens: tokensOf(ids.slice(0, begin), 'token_ids'),
    responseTokens: tokensOf(ids.slice(begin, end), 'token_ids'),
    lossMask: turns.slice(begin, end),
    ...(values ? { logprobs: floatsOf(values.slice(begin, end), 'generation_logprobs') } : {}),
  }
}

function refuseLonelyMask(mask: Uint8Array | undefined): object {
  if (mask) throw new RowFault('token_ids', 'a list beside token_loss_mask', 'nothing')
  return {}
}

/** The messages; a text alone is what the policy said. */
function contentOf(row: Row): string | readonly string[] {
  const value = only(row.any('content'))
  if (typeof value === 'string') return value
  const list = listOf(value, 'content')
  if (list.length === 0) throw new RowFault('content', 'messages', shown(list))
  return list.map((text, i) => textOf(text, `content[${i}]`))
}

type Texts = { prompt?: string; response: string }

function byTurns(content: string | readonly string[]): Texts {
  if (typeof content === 'string') return { response: content }
  const [prompt = '', ...rest] = content
  // The environment's last word is no part of the response.
  const said = rest.length > 1 && rest.length % 2 === 0 ? rest.slice(0, -1) : rest
  return { prompt, response: said.join('') }
}

/** Messages that are sampled and those that are not alternate in the mask as they do in the content, but for empty ones at the end. */
function byMask(content: string | readonly string[], mask: Uint8Array): Texts {
  if (typeof content === 'string') return { response: content }
  let sampled = 0
  for (let i = 0; i < mask.length; i++) if (mask[i] === 1 && mask[i - 1] !== 1) sampled += 1
  if (sampled === 0) return { prompt: content.join(''), response: '' }
  const texts = content.slice(0, content.findLastIndex((text) => text !== '') + 1)
  const trailing = mask.at(-1) === 1 ? 0 : 1
  const begin = texts.length - trailing - (2 * sampled - 1)
  // Messages that do not alternate: what is sure is that the first one is no answer.
  if (begin < 1) return { prompt: content[0]!, response: content.slice(1).join('') }
  return {
    prompt: texts.slice(0, begin).join(''),
    response: texts.slice(begin, texts.length - trailing).join(''),
  }
}

function sampleRow(of: Exported, idx: number): Record<string, unknown> {
  const { rollout: r, reward } = of
  const prompt = hasTokens(of) ? r.promptTokens.length : 0
  const zeros = new Array<number>(prompt).fill(0)
  const tokens = hasTokens(of) && {
    input_lengths: [prompt + r.responseTokens.length],
    token_ids: [[...r.promptTokens, ...r.responseTokens]],
    token_loss_mask: [[...zeros, ...r.lossMask]],
    sample_loss_mask: [1],
    ...(knows(of, 'responseLogprobs') ? { generation_logprobs: [[...zeros, ...r.responseLogprobs]] } : {}),
  }
  return {
    content: knows(of, 'promptText') ? [[r.promptText, r.responseText]] : [r.responseText],
    rewards: [reward!.score],
    ...tokens,
    idx,
  }
}
