import { expect, test } from 'vitest'
import { hashRollout } from '../../streams/hash-rollout.ts'
import { rollout } from './helpers.ts'

test('is the same for the same tokens and log-probabilities, wherever they lie in memory', () => {
  const shared = Int32Array.of(9, 4, 5, 9)
  const other = rollout({ responseTokens: shared.subarray(1, 3), responseText: 'other' })
  expect(hashRollout(other)).toBe(hashRollout(rollout()))
  expect(hashRollout(rollout())).toMatchInlineSnapshot(
    `"85d7f8ffa7c76a0c26fadc22b5f1085e24b939819e27e244d6935e16bc7f725f"`,
  )
})

test('sees every part, and which side a token is on', () => {
  const hashes = [
    rollout(),
    rollout({ promptTokens: Int32Array.of(1, 2) }),
    rollout({ promptTokens: Int32Array.of(1, 2, 3, 4), responseTokens: Int32Array.of(5) }),
    rollout({ responseTokens: Int32Array.of(4, 6) }),
    rollout({ responseLogprobs: Float32Array.of(-0.5, -1.0000001) }),
  ].map(hashRollout)
  expect(new Set(hashes).size).toBe(hashes.length)
})
