import { expect, it } from 'vitest'
import { HandOut } from '../../../src/verifiers/sandbox/hand-out.ts'

const never = new AbortController().signal

it('gives each thing to one holder, in order of arrival', async () => {
  const things = new HandOut(['a'])
  const order: string[] = []
  expect(await things.take(never)).toBe('a')
  const waiting = ['first', 'second'].map((name) => things.take(never).then(() => order.push(name)))
  things.give('a')
  await waiting[0]
  expect(order).toEqual(['first'])
  things.give('a')
  await waiting[1]
  expect(order).toEqual(['first', 'second'])
})

it('passes over who has given up', async () => {
  const things = new HandOut(['a'])
  await things.take(never)
  const off = new AbortController()
  const gone = things.take(off.signal)
  const next = things.take(never)
  off.abort(new Error('off'))
  await expect(gone).rejects.toThrow('off')
  things.give('a')
  expect(await next).toBe('a')
  expect(() => things.take(off.signal)).toThrow('off')
})
