import { describe, expect, test } from 'vitest'
import { embeddedPatch, patch, patchKind } from '../../../src/verifiers/patch/index.ts'
import type { Rollout } from '../../../topics/index.ts'
import { cosineOf, hiddenOf, idsOf, meanOf, tinyFolder } from '../embedding/tiny-encoder.ts'

const block = (to: string, file = 'f', from = 'two') =>
  `${file}\n<<<<<<< SEARCH\n${from}\n=======\n${to}\n>>>>>>> REPLACE\n`
const truth = { context: { f: 'one\ntwo\n', g: 'four\n' }, reference: block('three alpha') }
const { signal } = new AbortController()
const embedding = tinyFolder()
const diff = (line: string) => `@@ -1,2 +1,2 @@\n one\n-two\n+${line}\n`
const embedded = (line: string) => meanOf(hiddenOf(idsOf(diff(line))))
const byHand = cosineOf(embedded('beta'), embedded('three alpha'))

async function judged(response: string, flags: Record<string, unknown> = {}, given: object = truth) {
  await using judge = await patchKind.open({ jobs: 1, flags: { embedding, ...flags } })
  return await judge.judge({ id: 'a', response, ...(given as typeof truth) }, signal)
}
const lexical = (response: string) => {
  const verdict = patch().judge(response, truth)
  if (verdict.outcome !== 'score') throw new Error('expected a score')
  return verdict.score
}

describe('what is another change than the reference', () => {
  test.each([undefined, 0, 0.25, 1])('scores by wording and meaning, weight %s', async (semanticWeight) => {
    const wording = lexical(block('beta'))
    const weight = semanticWeight ?? 1
    const verdict = await judged(block('beta'), semanticWeight === undefined ? {} : { semanticWeight })
    expect(verdict).toEqual({
      outcome: 'score',
      score: expect.closeTo((1 - weight) * wording + weight * Math.max(0, byHand), 5),
      detail: {
        case: 'similar',
        files: [{ path: 'f', ratio: wording, cosine: expect.closeTo(byHand, 5) }],
        lexical: wording,
        semantic: expect.closeTo(Math.max(0, byHand), 5),
        weight,
        model: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
  })

  test('counts a file that one side leaves alone as unlike, and one that is right as alike', async () => {
    const verdict = await judged(block('three alpha') + block('five', 'g', 'four'))
    expect(verdict).toMatchObject({
      score: 0.5,
      detail: {
        semantic: 0.5,
        files: [
          { path: 'f', ratio: 1, cosine: 1 },
          { path: 'g', ratio: 0, cosine: 0 },
        ],
      },
    })
  })

  test('is never a full score, not even where the model sees no difference', async () => {
    const verdict = await judged(block('zebra'), {}, { ...truth, reference: block('xylophone') })
    expect(verdict).toMatchObject({ detail: { case: 'similar', files: [{ cosine: expect.closeTo(1, 9) }] } })
    expect((verdict as { score: number }).score).toBeLessThan(1)
  })

  test('says where the model did not read to the end', async () => {
    const short = tinyFolder({}, { 'config.json': { max_position_embeddings: 20 } })
    const verdict = await judged(block('beta '.repeat(40)), { embedding: short })
    expect(verdict).toMatchObject({ detail: { files: [{ truncated: { predicted: 20 } }] } })
    expect(JSON.stringify(verdict)).not.toContain('"reference":20')
  })
})

test.each([
  ['the reference', block('three alpha'), { score: 1, detail: { case: 'exact' } }],
  ['no change', block('two'), { score: 0, detail: { case: 'unchanged' } }],
  ['a malformed one', block('x', 'f', 'none'), { score: -1, detail: { case: 'malformed' } }],
  ['none', 'no', { outcome: 'unparsable', score: -1 }],
])('%s needs no model', async (_, response, expected) => {
  const verdict = await judged(response)
  expect(verdict).toMatchObject(expected)
  expect(verdict).not.toHaveProperty('detail.model')
})

test.each<[string, Record<string, unknown>, RegExp]>([
  ['a weight beyond 1', { embedding, semanticWeight: 2 }, /patch: semanticWeight/],
  ['a weight without a model', { semanticWeight: 0.5 }, /semanticWeight: expected it with embedding/],
  ['a pooling that is none', { embedding, pooling: 'max' }, /patch: pooling/],
  [
    'two ways to compare meaning',
    { embedding, judgeUrl: 'http://a/v1', judgeModel: 'm' },
    /either .* got both/,
  ],
  ['a judge without a model', { judgeUrl: 'http://a/v1' }, /judgeUrl: expected it with judgeModel/],
  ['a model without a judge', { judgeModel: 'm' }, /judgeModel: expected it with judgeUrl/],
  ['a key without a judge', { judgeKey: 'k' }, /judgeKey: expected it with judgeUrl/],
  ['a judge that has no address', { judgeUrl: 'a', judgeModel: 'm' }, /patch: judgeUrl/],
])('%s is refused by name', async (_, flags, message) => {
  await expect(patchKind.check!(flags)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(message),
  })
})

describe('for a run', () => {
  const rollout = (responseText: string, groundTruth: unknown = truth) =>
    ({ id: 'r', responseText, groundTruth }) as unknown as Rollout

  test('judges in a process of its own', async () => {
    await using verifier = await embeddedPatch({ embedding, semanticWeight: 0.5, formatPenalty: -2 })
    expect(await verifier.verify(rollout(block('beta')), signal)).toMatchObject({
      outcome: 'score',
      score: expect.closeTo((lexical(block('beta')) + Math.max(0, byHand)) / 2, 5),
    })
    expect(await verifier.verify(rollout('none'), signal)).toMatchObject({ outcome: 'unparsable', score: -2 })
    expect(await verifier.verify(rollout(block('beta'), 3), signal)).toMatchObject({
      outcome: 'failed',
      message: expect.stringMatching(/^verifier embedded-patch: patch: case: context/),
    })
  })

  test('has a hash of the model and the options that decide', async () => {
    const hashes = []
    for (const options of [
      { embedding },
      { embedding: tinyFolder({ typeIds: true }) },
      { embedding, semanticWeight: 0.5 },
      { embedding, formatPenalty: 0 },
      { embedding, pooling: 'cls' as const },
      { embedding: tinyFolder(), limits: { wallMs: 20_000 } },
    ]) {
      await using verifier = await embeddedPatch(options)
      hashes.push(verifier.codeHash)
    }
    expect(new Set(hashes.slice(0, 5)).size).toBe(5)
    expect(hashes[5]).toBe(hashes[0])
  })

  test('is not made where no process can start', async () => {
    await expect(embeddedPatch({ embedding: tinyFolder({ output: 'logits' }) })).rejects.toMatchObject({
      code: 'VERIFIER_FAILED',
      message: expect.stringMatching(/could not start: .*expected an output .*, got logits/),
    })
  })
})
