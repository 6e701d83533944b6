import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { HandOut, places } from '../../../src/verifiers/sandbox/hand-out.ts'

const never = new AbortController().signal

/** A use that ends when it is told to. */
function holding<T>(things: HandOut<T>, signal: AbortSignal = never) {
  let thing: T | undefined
  let end!: (result: string) => void
  let fail!: (error: Error) => void
  const ended = new Promise<string>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const held = things.hold(signal, (given) => {
    thing = given
    return ended
  })
  return { held, end, fail, thing: () => thing }
}

it('gives each thing to one holder, in order of arrival', async () => {
  const things = new HandOut(['a', 'b'])
  const all = Array.from({ length: 4 }, () => holding(things))
  const got = () => all.map(({ thing }) => thing())
  await turn()
  expect(got().toSorted()).toEqual(['a', 'b', undefined, undefined])
  const [first, second, third] = got()
  expect(third).toBe(undefined)
  all[1]!.end('done')
  expect(await all[1]!.held).toBe('done')
  await turn()
  expect(got()).toEqual([first, second, second, undefined])
  all[0]!.end('done')
  await turn()
  expect(got()).toEqual([first, second, second, first])
})

it('passes over who has given up while it waited', async () => {
  const things = new HandOut(['a'])
  const now = holding(things)
  const off = new AbortController()
  const gone = holding(things, off.signal)
  const next = holding(things)
  off.abort(new Error('off'))
  await expect(gone.held).rejects.toThrow('off')
  expect(next.thing()).toBe(undefined)
  now.end('done')
  await turn()
  expect([gone.thing(), next.thing()]).toEqual([undefined, 'a'])
  await expect(things.hold(off.signal, async () => 'used')).rejects.toThrow('off')
})

it('has the thing back from a use that throws', async () => {
  const things = new HandOut(['a'])
  const bad = holding(things)
  const next = holding(things)
  bad.fail(new Error('broken'))
  await expect(bad.held).rejects.toThrow('broken')
  await turn()
  expect(next.thing()).toBe('a')
  next.end('done')
  const thrown = things.hold(never, () => {
    throw new Error('at once')
  })
  await expect(thrown).rejects.toThrow('at once')
  expect(await things.hold(never, async (thing) => thing)).toBe('a')
})

it('begins no use whose abort comes with its turn', async () => {
  const things = new HandOut(['a'])
  const now = holding(things)
  const off = new AbortController()
  const late = holding(things, off.signal)
  now.end('done')
  void now.held.then(() => off.abort(new Error('off')))
  await expect(late.held).rejects.toThrow('off')
  expect(late.thing()).toBe(undefined)
  expect(await things.hold(never, async (thing) => thing)).toBe('a')
})

it('is idle when nothing is held, and usable afterwards', async () => {
  const three = places(3)
  await three.idle()
  const off = new AbortController()
  const all = Array.from({ length: 4 }, () => holding(three, off.signal))
  await turn()
  let idle = 0
  const both = [three.idle(), three.idle()].map((each) => each.then(() => idle++))
  off.abort(new Error('off'))
  await expect(all[3]!.held).rejects.toThrow('off')
  for (const { end } of all.slice(0, 2)) end('done')
  await turn()
  expect(idle).toBe(0)
  all[2]!.fail(new Error('broken'))
  await expect(all[2]!.held).rejects.toThrow('broken')
  await Promise.all(both)
  expect(await three.hold(never, async () => 'used')).toBe('used')
})
