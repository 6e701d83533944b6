import { expect, test } from 'vitest'
import { learningRate } from '../../streams/learning-rate.ts'

const of = (schedule: 'constant' | 'cosine' | 'linear', steps: number, warmup = 0, lr = 1) =>
  Array.from({ length: steps }, (_, i) =>
    Number(learningRate({ schedule, steps, warmup, lr }, i + 1).toFixed(6)),
  )

test.each([
  ['constant', of('constant', 3, 0, 0.5), [0.5, 0.5, 0.5]],
  ['warm-up ends with the full rate', of('constant', 5, 4), [0.25, 0.5, 0.75, 1, 1]],
  [
    'linear begins with the full rate and would be 0 after the last step',
    of('linear', 4),
    [1, 0.75, 0.5, 0.25],
  ],
  ['linear after a warm-up', of('linear', 6, 2), [0.5, 1, 1, 0.75, 0.5, 0.25]],
  ['cosine', of('cosine', 4), [1, 0.853553, 0.5, 0.146447]],
  ['cosine after a warm-up', of('cosine', 3, 1), [1, 1, 0.5]],
  ['a warm-up longer than the stage', of('linear', 2, 4), [0.25, 0.5]],
  ['a warm-up as long as the stage', of('cosine', 2, 2), [0.5, 1]],
  ['nothing is trained at rate 0', of('cosine', 2, 1, 0), [0, 0]],
])('%s', (_, got, expected) => {
  expect(got).toEqual(expected)
})
