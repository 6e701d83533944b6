import { expect, test } from 'vitest'
import { verl } from '../../src/exchange/verl.ts'

const place = { file: 'dump/12.jsonl', line: 1 }

/** As `_dump_generations` writes it: extras of the reward function beside the score. */
const row = {
  input: 'user\nWhat is 2+2?\nassistant\n',
  output: '2+2 is 4.\n#### 4',
  gts: '4',
  score: 1.0,
  step: 12,
  acc: true,
  pred: '4',
}

test('a row: texts, ground truth as it is, score, what the reward function added', () => {
  expect(verl.read(row, place)).toEqual({
    rollouts: [
      {
        group: undefined,
        step: 12,
        prompt: row.input,
        response: row.output,
        groundTruth: '4',
        reward: { outcome: 'score', score: 1, detail: { acc: true, pred: '4' } },
      },
    ],
    ignored: [],
  })
})

test('ground truths stay the JSON that they are', () => {
  for (const gts of [{ tests: [{ stdin: '1', stdout: '2' }] }, ['a', 1], 7, '{"x":1}']) {
    expect(verl.read({ ...row, gts }, place).rollouts[0]!.groundTruth).toEqual(gts)
  }
  expect(verl.read({ ...row, gts: null }, place).rollouts[0]!.groundTruth).toBeUndefined()
})

test.each([
  [{ ...row, output: undefined }, 'output: expected a text, got nothing'],
  [{ ...row, score: '1' }, 'score: expected a finite number, got "1"'],
  [{ ...row, score: null }, 'score: expected a finite number, got nothing'],
  [{ ...row, step: -1 }, 'step: expected a whole number from 0 to 2147483647, got -1'],
  [[row], '(row): expected a JSON object, got a list of 1'],
])('%j is refused', (bad, message) => {
  expect(() => verl.read(bad, place)).toThrow(message)
})
