import { expect, test } from 'vitest'
import { Fence } from '../../streams/fence.ts'

test('the newest coordinator counts, and each of its records once', () => {
  const fence = new Fence()
  const seen = [
    [1, 0, true],
    [1, 1, true],
    [1, 1, false],
    [1, 0, false],
    [3, 2, true],
    // Replaced while it was writing.
    [1, 2, false],
    [2, 9, false],
    [3, 3, true],
    // A new epoch may start wherever it read the log to be.
    [4, 3, true],
    [4, 3, false],
    [4, 7, true],
  ] as const
  for (const [epoch, seq, counts] of seen)
    expect(fence.admits({ epoch, seq }), `${epoch}/${seq}`).toBe(counts)
})
