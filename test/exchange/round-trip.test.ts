import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Exported, type ForeignRollout, formats } from '../../src/exchange/index.ts'
import { recordsOf } from '../../src/exchange/records.ts'
import { rewards, rollouts } from '../../topics/index.ts'
import { groups } from './foreigners.ts'

const of = { run: 'r', stage: 'imported', domain: 'math', dataset: 'd', verifier: 'v' }

/** The group as a run holds it: through the topics' own codecs. */
function stored(group: readonly ForeignRollout[], step = 3): Exported[] {
  const records = recordsOf(group, of, { step, admission: 5 })
  const judged = records.rewards(40).map((r) => rewards('math').decode(rewards('math').encode(r)))
  return records.rollouts.map((value) => {
    const rollout = rollouts('math').decode(rollouts('math').encode(value))
    return { rollout, reward: judged.find((r) => r.id === rollout.id) }
  })
}

const place = (name: string) => ({
  file: name === 'nemo-rl' ? 'train_data_step3.jsonl' : 'rows.jsonl',
  line: 1,
})

/** What a format carries; the rest is listed as lost in `docs/exchange.md`. */
const carried: Readonly<Record<string, readonly (keyof ForeignRollout)[]>> = {
  plain: [
    'prompt',
    'response',
    'promptTokens',
    'responseTokens',
    'logprobs',
    'policyVersion',
    'versionSpans',
    'groundTruth',
    'finishReason',
    'status',
    'step',
  ],
  'nemo-rl': ['prompt', 'response', 'promptTokens', 'responseTokens', 'logprobs', 'lossMask', 'step'],
  pipelinerl: [
    'prompt',
    'response',
    'promptTokens',
    'responseTokens',
    'logprobs',
    'lossMask',
    'policyVersion',
    'finishReason',
    'status',
  ],
  verl: ['prompt', 'response', 'groundTruth', 'step'],
  areal: ['prompt', 'response', 'versionSpans'],
}

describe.each(formats)('$name', (format) => {
  test('what is written is read as it was, as far as the format carries it', () => {
    fc.assert(
      fc.property(groups, (group) => {
        const lines = format
          .write(stored(group), 0)
          .map((line) => JSON.parse(JSON.stringify(line)) as unknown)
        const back = lines.flatMap((line) => format.read(line, place(format.name)).rollouts)
        expect(back).toHaveLength(group.length)
        for (const [i, member] of group.entries()) {
          for (const field of carried[format.name]!) {
            expect([field, back[i]![field]]).toEqual([field, field === 'step' ? 3 : member[field]])
          }
          expect(back[i]!.reward).toMatchObject({ outcome: 'score', score: member.reward!.score })
        }
        const names = new Set(back.map((b) => b.group ?? b.prompt))
        expect(names.size).toBe(1)
      }),
      { numRuns: 150 },
    )
  })

  test('whatever is lost is lost at once: what was read is written and read alike from then on', () => {
    const again = (lines: readonly unknown[]) => {
      const read = lines.flatMap(
        (l) => format.read(JSON.parse(JSON.stringify(l)), place(format.name)).rollouts,
      )
      return format.write(stored(read), 0)
    }
    fc.assert(
      fc.property(groups, (group) => {
        const once = again(format.write(stored(group), 0))
        expect(JSON.stringify(again(once))).toBe(JSON.stringify(once))
      }),
      { numRuns: 60 },
    )
  })
})

test('plain keeps outcomes that are no scores, masks and details', () => {
  const plain = formats.find((f) => f.name === 'plain')!
  const base = { prompt: 'q', response: 'a', promptTokens: Int32Array.of(1) }
  const group: ForeignRollout[] = [
    { ...base, reward: { outcome: 'error', reason: 'VERIFIER_TIMEOUT', verifier: 'm', version: '2' } },
    {
      ...base,
      reward: { outcome: 'unparsable', score: -1, verifier: 'm', version: '2', detail: { why: [1] } },
    },
    { ...base },
    {
      ...base,
      responseTokens: Int32Array.of(3, 4),
      lossMask: Uint8Array.of(0, 1),
      refLogprobs: Float32Array.of(-1, -2),
    },
  ]
  const lines = plain.write(stored(group), 0).map((l) => JSON.parse(JSON.stringify(l)) as unknown)
  const back = lines.flatMap((l) => plain.read(l, place('plain')).rollouts)
  for (const [i, member] of group.entries()) expect(back[i]).toMatchObject(member)
  expect(back[2]!.reward).toBeUndefined()
  expect(back[3]!.logprobs).toBeUndefined()
})
