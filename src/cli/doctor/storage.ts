import { mkdtemp, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { open } from 'lmdb'
import { byteSize } from '../output/format.ts'
import { type Check, message } from './check.ts'

const commits = 15
const low = 5 * 1024 ** 3
const tooLow = 200 * 1024 ** 2

/** The folder itself, or the nearest one above that exists. */
async function existing(folder: string): Promise<string> {
  const there = await stat(folder).then(
    (s) => s.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false
      throw error
    },
  )
  return there || dirname(folder) === folder ? folder : existing(dirname(folder))
}

/** Space left where runs are written. */
export async function checkDisk(runs: string): Promise<Check> {
  let folder: string
  try {
    folder = await existing(runs)
  } catch (error) {
    return unreadable('disk', runs, error)
  }
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const status = free < tooLow ? 'fail' : free < low ? 'warn' : 'ok'
  return {
    name: 'disk',
    status,
    detail: `${byteSize(free)} free in ${folder}`,
    ...(status === 'ok' ? {} : { advice: 'make room, or give another folder with --dir' }),
    facts: { folder, free },
  }
}

/** Commits to an LMDB database where runs are written, and how long one takes to be on disk. */
export async function checkLog(runs: string): Promise<Check> {
  let parent: string
  try {
    parent = await existing(runs)
  } catch (error) {
    return unreadable('log', runs, error)
  }
  let folder: string
  try {
    folder = await mkdtemp(join(parent, '.doctor-'))
  } catch (error) {
    return {
      name: 'log',
      status: 'fail',
      detail: `${parent} cannot be written: ${message(error)}`,
      advice: 'start from a folder that you may write, or give one with --dir',
    }
  }
  try {
    return await commitSome(folder)
  } catch (error) {
    return {
      name: 'log',
      status: 'fail',
      detail: `lmdb does not work in ${parent}: ${message(error)}`,
      advice: advice(error),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function unreadable(name: string, folder: string, error: unknown): Check {
  return {
    name,
    status: 'fail',
    detail: `${folder} cannot be looked at: ${message(error)}`,
    advice: 'start from a folder that you may read and write, or give one with --dir',
  }
}

async function commitSome(folder: string): Promise<Check> {
  const database = open<Buffer, number>({
    path: folder,
    noSubdir: false,
    encoding: 'binary',
    overlappingSync: false,
  })
  const times: number[] = []
  try {
    for (let i = 0; i < commits; i++) {
      const begun = performance.now()
      await database.put(i, Buffer.alloc(2048, i))
      await database.flushed
      times.push(performance.now() - begun)
    }
    if (database.get(commits - 1)?.[0] !== commits - 1) throw new Error('what was written cannot be read')
  } finally {
    await database.close()
  }
  const [median, worst] = [times.sort((a, b) => a - b)[Math.floor(commits / 2)]!, times.at(-1)!]
  const slow = median > 50
  return {
    name: 'log',
    status: slow ? 'warn' : 'ok',
    detail: `lmdb works; a synced commit takes ${median.toFixed(1)} ms (worst of ${commits}: ${worst.toFixed(1)} ms)`,
    ...(slow ? { advice: 'the disk is slow to sync: put the run folder on a local one with --dir' } : {}),
    facts: { medianMs: median, worstMs: worst },
  }
}

function advice(error: unknown): string {
  const loads = message(error).match(/no native build|cannot find module|prebuild/i)
  return loads ? 'reinstall with npm ci, without --omit=optional' : 'give a folder on a local disk with --dir'
}
