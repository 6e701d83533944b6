import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { submit } from '../../../src/log/index.ts'
import { ids, note, notes, readAll, rejection } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, temporaryFolder } from './folder.ts'

const megabyte = 1024 * 1024

/** Whether this user may mount a file system of a given size, as in a container with that right. */
function canMount(): boolean {
  using folder = temporaryFolder()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder.path]).status !== 0) return false
  return spawnSync('umount', [folder.path]).status === 0
}

function smallDisk(path: string, megabytes: number): Disposable {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  return { [Symbol.dispose]: () => void execFileSync('umount', ['--lazy', path]) }
}

describe.runIf(process.platform === 'linux')('a file that may not grow further', () => {
  test('LOG_FULL names the log, nothing acknowledged is lost, and the log goes on when it may grow again', async () => {
    using folder = temporaryFolder()
    // The kernel's own limit on a file's size: writes beyond it fail as those to a full disk do.
    await using filler = new Child(
      'filler.ts',
      [folder.path],
      ['prlimit', `--fsize=${3 * megabyte}:unlimited`],
    )
    const full = await filler.line((line) => line.startsWith('full'))
    expect(full).toMatch(folder.path)
    execFileSync('prlimit', ['--pid', String(filler.pid), '--fsize=unlimited:unlimited'])
    await filler.line((line) => line === 'done')
    await filler.kill()
    const acknowledged = filler.lines
      .filter((line) => line.startsWith('ack'))
      .map((line) => Number(line.slice(4)))
    await using log = await append(folder.path)
    const written = await readAll(log, notes)
    expect(written.map((r) => r.value.id)).toEqual(acknowledged.flatMap((id) => [id, id]))
    expect(written.map((r) => r.value.text.length)).toEqual(acknowledged.flatMap(() => [20_000, 4]))
  })
})

describe.runIf(process.platform === 'linux' && canMount())('a full disk', () => {
  test('LOG_FULL, nothing acknowledged is lost, and the log goes on when there is space again', async () => {
    using folder = temporaryFolder()
    using _disk = smallDisk(folder.path, 8)
    const ballast = join(folder.path, 'ballast')
    writeFileSync(ballast, Buffer.alloc(5 * megabyte))
    let log = await append(join(folder.path, 'log'))
    const written: number[] = []
    const fill = async () => {
      for (let id = written.length; ; id++) {
        await log.commit({ append: [note(id, 'x'.repeat(50_000))], settle: [] })
        written.push(id)
      }
    }
    expect(await rejection(fill(), 'LOG_FULL')).toMatch(log.dir)
    const settle = [{ group: 'g', topic: 'notes', offset: 0 }]
    await rejection(log.commit({ append: [note(-1, 'x'.repeat(500_000))], settle }), 'LOG_FULL')
    expect(await ids(log)).toEqual(written)
    expect(await log.position('g', 'notes')).toEqual({ floor: 0, beyond: [] })
    await rejection(submitAll(log.dir), 'LOG_FULL')

    rmSync(ballast)
    await log.commit({ append: [note(written.length)], settle })
    written.push(written.length)
    expect(await ids(log)).toEqual(written)
    await log.close()
    log = await append(log.dir)
    expect(await ids(log)).toEqual(written)
    expect(await log.position('g', 'notes')).toEqual({ floor: 1, beyond: [] })
    await log.close()
  })

  test('a log on a disk without space is refused when it is opened, new or not', async () => {
    using folder = temporaryFolder()
    using _disk = smallDisk(folder.path, 2)
    const dir = join(folder.path, 'log')
    await (await append(dir)).close()
    const ballast = join(folder.path, 'ballast')
    expect(() => writeFileSync(ballast, Buffer.alloc(2 * megabyte))).toThrow(/ENOSPC/)
    await rejection(append(dir), 'LOG_FULL')
    await rejection(append(join(folder.path, 'new')), 'LOG_FULL')
    rmSync(ballast)
    await (await append(dir)).close()
  })

  test('a read-only disk is no place for a log', async () => {
    using folder = temporaryFolder()
    using _disk = smallDisk(folder.path, 2)
    mkdirSync(join(folder.path, 'run'))
    execFileSync('mount', ['-o', 'remount,ro', folder.path])
    const dir = join(folder.path, 'run')
    expect(await rejection(append(dir), 'RUN_DIR_UNUSABLE')).toMatch(dir)
  })
})

test('a folder that cannot be made or written is named', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'file')
  writeFileSync(file, '')
  expect(await rejection(append(join(file, 'log')), 'RUN_DIR_UNUSABLE')).toMatch(join(file, 'log'))
  expect(await rejection(append(file), 'RUN_DIR_UNUSABLE')).toMatch(file)
})

async function submitAll(dir: string): Promise<never> {
  for (;;) await submit(dir, 'control', { filler: 'x'.repeat(100_000) })
}
