import { expect, test } from 'vitest'
import { judgedPatch, patchCriteria } from '../../../src/verifiers/patch/index.ts'
import { llmJudge } from '../../../src/verifiers/preference/index.ts'
import type { Rollout } from '../../../topics/index.ts'
import { json, loopback, type Reply, status } from '../remote/loopback.ts'

const block = (replace: string, search = 'two') =>
  `f\n<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n`
const rollout = (responseText: string) =>
  ({
    promptText: 'Make two loud',
    responseText,
    groundTruth: { context: { f: 'one\ntwo\n' }, reference: block('TWO') },
  }) as unknown as Rollout
const yes = json({ choices: [{ message: { content: '{"reason": "does it", "score": 7.75}' } }] })

async function judged(response: string, reply: Reply) {
  await using server = await loopback(reply)
  const judge = llmJudge({ url: server.url, model: 'm', criteria: patchCriteria, attempts: 1 })
  const verdict = await judgedPatch(judge).verify(rollout(response), new AbortController().signal)
  return { verdict, asked: server.bodies.length, body: JSON.stringify(server.bodies) }
}

test('what is not the reference is judged', async () => {
  const { verdict, asked, body } = await judged(block('Two!'), yes)
  expect(verdict).toMatchObject({
    outcome: 'score',
    score: 0.75,
    detail: { case: 'judged', lexical: expect.any(Number), judge: { raw: 7.75, reason: 'does it' } },
  })
  expect(asked).toBe(1)
  for (const part of ['Make two loud', 'Two!', 'TWO']) expect(body).toContain(part)
})

test.each([
  ['the reference', block('TWO'), { score: 1, detail: { case: 'exact' } }],
  ['no change', block('two'), { score: 0, detail: { case: 'unchanged' } }],
  ['a malformed one', block('x', 'three'), { score: -1, detail: { case: 'malformed' } }],
  ['none', 'no', { outcome: 'unparsable', score: -1 }],
])('%s is not', async (_, response, expected) => {
  const { verdict, asked } = await judged(response, yes)
  expect(verdict).toMatchObject(expected)
  expect(asked).toBe(0)
})

test('an outage of the judge is an error, not the lexical score', async () => {
  const { verdict } = await judged(block('Two!'), status(500, 'broken'))
  expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: true })
  expect(verdict).not.toHaveProperty('score')
})
