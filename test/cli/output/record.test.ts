import { expect, test } from 'vitest'
import { recordJson, recordLine } from '../../../src/cli/output/record.ts'

const envelope = {
  topic: 'rollouts.math',
  offset: 3,
  timestamp: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  key: 'k',
  headers: { trace: 't' },
  bytes: 10,
}

test('typed arrays become plain ones, buffers too', () => {
  const value = {
    a: Int32Array.of(1, -2),
    b: Float32Array.of(0.5),
    c: Buffer.from([7, 8]),
    d: [Uint8Array.of(1)],
    e: { f: 'x' },
  }
  expect(JSON.parse(recordJson({ ...envelope, value }))).toEqual({
    offset: 3,
    timestamp: envelope.timestamp,
    key: 'k',
    headers: { trace: 't' },
    value: { a: [1, -2], b: [0.5], c: [7, 8], d: [[1]], e: { f: 'x' } },
  })
})

test('a line shows what matters first, within the terminal', () => {
  const value = {
    id: 'g:0',
    stage: 'math',
    step: 2,
    responseText: 'a b\n',
    tokens: new Int32Array(5),
    many: [1, 2, 3, 4, 5],
    none: undefined,
    at: [0.25, 1],
  }
  expect(recordLine({ ...envelope, value }, 200)).toBe(
    '     3  03:04:05.678  stage=math step=2 responseText="a b\\n" id=g:0 tokens=[5] many=[5] at=[0.25,1]',
  )
  expect(recordLine({ ...envelope, value }, 40)).toHaveLength(40)
})
