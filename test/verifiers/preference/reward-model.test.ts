import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  RewardEngine,
  type RewardModel,
  readRewardModel,
  rewardModelFiles,
} from '../../../src/model/reward/index.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { preferenceKind, rewardModelVerifier } from '../../../src/verifiers/preference/index.ts'
import { RewardJudge } from '../../../src/verifiers/preference/reward-judge.ts'
import { writeFolder } from '../../../src/write-folder.ts'
import type { Rollout } from '../../../topics/index.ts'
import { rewardConfig as config } from '../../model/reward/tiny-reward.ts'

const never = new AbortController().signal
let parent: string
let folder: string
let model: RewardModel
let judge: RewardJudge

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'cascade-preference-'))
  folder = join(parent, 'model')
  await writeFolder(folder, `${folder}-tmp`, rewardModelFiles(config, initWeights(config, 5)))
  model = await readRewardModel(folder)
  judge = await RewardJudge.open({ name: 'preference', model, threads: 1 })
})
afterAll(async () => {
  await judge[Symbol.asyncDispose]()
  await rm(parent, { recursive: true })
})

describe('a judgement', () => {
  test('is the reward as it is, the same alone and among many', async () => {
    const given = Array.from({ length: 150 }, (_, i) => ({
      prompt: 'say it\n',
      response: 'word '.repeat(i % 7) + i,
    }))
    const all = await Promise.all(given.map((g) => judge.judge(g, never)))
    expect(all[3]).toEqual({
      outcome: 'score',
      score: expect.any(Number),
      detail: { reward: expect.any(Number), tokens: 25, model: model.hash.slice(0, 12) },
    })
    expect(new Set(all.map((v) => 'score' in v && v.score)).size).toBeGreaterThan(140)
    for (const i of [0, 77, 149]) expect(await judge.judge(given[i]!, never)).toEqual(all[i])
  })

  test('reads the prompt', async () => {
    const [a, b] = await Promise.all(
      ['x\n', 'y\n'].map((prompt) => judge.judge({ prompt, response: 'x' }, never)),
    )
    expect(a).not.toEqual(b)
  })

  test.each([
    ['one that is longer than the model reads', 'x'.repeat(44), /expected at most 48 tokens, got 49/],
    ['a huge one', 'x'.repeat(2_000_000), /expected at most 48 tokens, got 2000005/],
    [
      'a character outside the alphabet',
      'naïve',
      /preference: response: text: expected .*, got "ï" \(U\+00EF\)/,
    ],
    ['half a character', 'a\ud83d', /U\+D83D/],
  ])('%s is an error, never a score of the rest', async (_, response, message) => {
    expect(await judge.judge({ prompt: 'a?\n', response }, never)).toEqual({
      outcome: 'failed',
      code: 'RECORD_INVALID',
      message: expect.stringMatching(message),
      retryable: false,
    })
    expect(await judge.judge({ prompt: 'a?\n', response: 'x'.repeat(43) }, never)).toMatchObject({
      outcome: 'score',
    })
  })

  test('an empty response has a reward too', async () => {
    expect(await judge.judge({ prompt: '', response: '' }, never)).toMatchObject({ detail: { tokens: 2 } })
  })

  test('an abort rejects with its reason, and the others are judged', async () => {
    const abort = new AbortController()
    const [first, second] = [
      judge.judge({ prompt: '', response: 'a' }, abort.signal),
      judge.judge({ prompt: '', response: 'b' }, never),
    ]
    abort.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    expect(await second).toMatchObject({ outcome: 'score' })
    await expect(judge.judge({ prompt: '', response: 'a' }, abort.signal)).rejects.toThrow('enough')
  })

  test('a reward that is no number is an error', async () => {
    const weights = initWeights(config, 5)
    weights.get('score')!.fill(Number.NaN)
    await using broken = await RewardJudge.open({ name: 'judge', model: { ...model, weights }, threads: 1 })
    expect(await broken.judge({ prompt: '', response: 'a' }, never)).toMatchObject({
      outcome: 'failed',
      code: 'NUMERIC',
      message: expect.stringContaining('verifier judge: expected a finite reward'),
    })
  })

  test('a thread that ends is an error that may pass, and is started again', async () => {
    const open = vi.spyOn(RewardEngine, 'open')
    await using own = await RewardJudge.open({ name: 'judge', model, threads: 1 })
    const given = { prompt: '', response: 'a' }
    const before = await own.judge(given, never)
    await (await open.mock.results[0]!.value)[Symbol.asyncDispose]()
    expect(await own.judge(given, never)).toMatchObject({ code: 'ENGINE_FAILED', retryable: true })
    expect(await own.judge(given, never)).toEqual(before)
    open.mockRestore()
  })

  test('closed, it answers with an error', async () => {
    const closed = await RewardJudge.open({ name: 'judge', model, threads: 1 })
    await closed[Symbol.asyncDispose]()
    expect(await closed.judge({ prompt: '', response: 'a' }, never)).toMatchObject({ code: 'ENGINE_FAILED' })
  })
})

describe('the kind', () => {
  const open = (flags: Record<string, unknown>) => preferenceKind.open({ jobs: 1, flags })

  test('judges cases with the model that it is told', async () => {
    await using kind = await open({ model: folder })
    const given = { prompt: 'say it\n', response: 'it' }
    expect(await kind.judge({ id: 'a', ...given }, never)).toEqual(await judge.judge(given, never))
  })

  test.each([
    [{}, 'got none'],
    [{ model: '' }, 'got ""'],
    [{ model: true }, 'got true'],
  ])('%j: a model is asked for', async (flags, got) => {
    await expect(open(flags)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`--model: preference: expected the folder of a reward model, ${got}`),
    })
  })

  test('a folder without a model is named', async () => {
    await expect(open({ model: parent })).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
      message: expect.stringContaining(parent),
    })
  })

  test.each([
    ['a case without a prompt', { id: 'a', response: '' }],
    ['an unknown field', { id: 'a', prompt: '', response: '', answer: '' }],
  ])('%s is none', (_, given) => {
    expect(preferenceKind.schema.safeParse(given).success).toBe(false)
  })
})

test('as the verifier of a run it is another version with other weights or another name', async () => {
  await using verifier = await rewardModelVerifier({ name: 'taste', model: folder, threads: 1 })
  const rollout = { promptText: 'say it\n', responseText: 'it', groundTruth: null } as Rollout
  expect(await verifier.verify(rollout, never)).toEqual(
    await judge.judge({ prompt: 'say it\n', response: 'it' }, never),
  )
  expect(verifier).toMatchObject({ name: 'taste', version: `1-${model.hash.slice(0, 8)}` })
  await using again = await rewardModelVerifier({ name: 'taste', model: folder, threads: 1 })
  expect(again.codeHash).toBe(verifier.codeHash)
  await using named = await rewardModelVerifier({ model: folder, threads: 1 })
  expect(named.name).toBe('preference')
  const other = join(parent, 'other')
  await writeFolder(other, `${other}-tmp`, rewardModelFiles(config, initWeights(config, 6)))
  await using changed = await rewardModelVerifier({ name: 'taste', model: other, threads: 1 })
  expect(new Set([verifier, named, changed].map((v) => v.codeHash)).size).toBe(3)
  expect(changed.version).not.toBe(verifier.version)
})
