import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { WriteGate, whileNoneOpens, whileNoneWrites } from '../../../src/log/embedded/gate.ts'
import { append as appendIds, ids, range, rejection } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, read, temporaryFolder } from './folder.ts'

function gated() {
  const folder = temporaryFolder()
  const warnings: string[] = []
  const gate = new WriteGate(folder.path, ({ message }) => warnings.push(message))
  return { folder, gate, warnings, inside: () => readdirSync(join(folder.path, 'gate')) }
}

function deferred() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** What `work` has come to after a while: its result, or that it waits. */
function soon<R>(work: Promise<R>): Promise<R | 'waits'> {
  return Promise.race([work, setTimeout(50, 'waits' as const)])
}

describe('opening and writing exclude each other', () => {
  test('an opener waits for the write under way', async () => {
    const { folder, gate } = gated()
    using _folder = folder
    const written = deferred()
    const write = gate.hold(() => written.promise)
    const open = whileNoneWrites(folder.path, () => 'opened')
    expect(await soon(open)).toBe('waits')
    written.resolve()
    await write
    expect(await open).toBe('opened')
    gate[Symbol.dispose]()
  })

  test('a write waits for the opener under way, and goes before none', async () => {
    const { folder, gate } = gated()
    using _folder = folder
    // What an opener of this process leaves while it opens.
    const name = readdirSync(join(folder.path, 'gate'))[0]!.replace('writer', 'opener')
    const place = join(folder.path, 'gate', name)
    writeFileSync(place, '')
    const write = gate.hold(() => 'written')
    expect(await soon(write)).toBe('waits')
    // A closing, since that opener, which has no ticket yet, goes before.
    expect(await soon(whileNoneOpens(folder.path, () => Promise.resolve()))).toBe('waits')
    rmSync(place)
    expect(await write).toBe('written')
    gate[Symbol.dispose]()
  })

  test('openers and closers take turns, in the order they came', async () => {
    using folder = temporaryFolder()
    const order: number[] = []
    let inside = 0
    const turn = (n: number) =>
      whileNoneOpens(folder.path, async () => {
        expect(++inside).toBe(1)
        await setTimeout(2)
        order.push(n)
        inside--
      })
    await Promise.all(range(0, 20).map(turn))
    expect(order).toEqual(range(0, 20))
    expect(readdirSync(join(folder.path, 'gate'))).toEqual([])
  })

  test('writes of one process overlap, and the last one ends the turn', async () => {
    const { folder, gate } = gated()
    using _folder = folder
    const [first, second] = [deferred(), deferred()]
    const writes = [gate.hold(() => first.promise), gate.hold(() => second.promise)]
    const open = whileNoneWrites(folder.path, () => 'opened')
    first.resolve()
    expect(await soon(open)).toBe('waits')
    second.resolve()
    await Promise.all(writes)
    expect(await open).toBe('opened')
    gate[Symbol.dispose]()
  })

  test('a write or an opening that fails ends its turn too', async () => {
    const { folder, gate, inside } = gated()
    using _folder = folder
    const fail = () => {
      throw new Error('no')
    }
    await expect(gate.hold(fail)).rejects.toThrow('no')
    await expect(whileNoneWrites(folder.path, fail)).rejects.toThrow('no')
    expect(await gate.hold(() => 1)).toBe(1)
    expect(await whileNoneWrites(folder.path, () => 2)).toBe(2)
    gate[Symbol.dispose]()
    expect(inside()).toEqual([])
  })
})

test('what a killed process or a copied folder left stops nobody, and goes', async () => {
  using folder = temporaryFolder()
  await using writer = new Child('writer.ts', [folder.path, '1000000', '10'])
  await writer.line((line) => line === 'ack 100')
  using copy = temporaryFolder()
  cpSync(join(folder.path, 'gate'), join(copy.path, 'gate'), { recursive: true })
  const own = readdirSync(join(copy.path, 'gate')).find((name) => name.startsWith('writer'))!
  writeFileSync(join(copy.path, 'gate', own), '1')
  expect(await whileNoneWrites(copy.path, () => readdirSync(join(copy.path, 'gate')).length)).toBe(1)

  await writer.kill()
  writeFileSync(join(folder.path, 'gate', own), '1')
  writeFileSync(join(folder.path, 'gate', own.replace('writer', 'opener')), '')
  await using log = await append(folder.path)
  await appendIds(log, [0])
  expect(readdirSync(join(folder.path, 'gate'))).toEqual([expect.stringContaining(`writer.${process.pid}.`)])
})

test('what is left and cannot be removed stops nobody', async () => {
  const { folder, gate, inside } = gated()
  using _folder = folder
  for (const side of ['writer', 'opener']) mkdirSync(join(folder.path, 'gate', `${side}.0.dead.0.0`))
  expect(await gate.hold(() => 1)).toBe(1)
  expect(await whileNoneWrites(folder.path, () => 2)).toBe(2)
  gate[Symbol.dispose]()
  expect(inside()).toHaveLength(2)
})

test('a log that is opened while this process closes it is opened after that', async () => {
  using folder = temporaryFolder()
  const log = await append(folder.path)
  await appendIds(log, range(0, 3))
  await log.close()
  const first = await read(folder.path)
  const closing = first.close()
  const second = await read(folder.path)
  expect(await ids(second)).toEqual(range(0, 3))
  await closing
  expect(await ids(second)).toEqual(range(0, 3))
  await second.close()
})

test('a log is opened, and written, behind the gate', async () => {
  using folder = temporaryFolder()
  const log = await append(folder.path)
  await appendIds(log, range(0, 3))
  const gate = join(folder.path, 'gate')
  const [writer] = readdirSync(gate)
  expect(readFileSync(join(gate, writer!), 'utf8')).toBe('0')
  // An opener's file of this process, as a worker or another copy of the module would make it.
  const opener = join(gate, writer!.replace('writer', 'opener'))
  writeFileSync(opener, '')
  const commit = appendIds(log, [3])
  expect(await soon(commit)).toBe('waits')
  rmSync(opener)
  await commit
  await log.close()

  const busy = join(gate, writer!)
  writeFileSync(busy, '1')
  const reading = read(folder.path)
  expect(await soon(reading)).toBe('waits')
  writeFileSync(busy, '0')
  const reader = await reading
  expect(await ids(reader)).toEqual(range(0, 4))
  await reader.close()
})

test('a process that is stopped in a write is named', { timeout: 20_000 }, async () => {
  const { folder, gate } = gated()
  using _folder = folder
  const never = deferred()
  const write = gate.hold(() => never.promise)
  const message = await rejection(
    whileNoneWrites(folder.path, () => 'opened'),
    'LOG_BUSY',
  )
  expect(message).toMatch(`expected process ${process.pid} to have ended a write within 10 s`)
  never.resolve()
  await write
  gate[Symbol.dispose]()
})
