import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CheckpointStore } from '../../src/update/checkpoint-store.ts'
import { folder } from './helpers.ts'

const files = [
  { name: 'model.safetensors', bytes: Buffer.from('weights') },
  { name: 'config.json', bytes: Buffer.from('{}') },
]
const names = async (run: string) => (await readdir(join(run, 'checkpoints'))).sort()

test('what is written is read, named by version and content, and the same again is the same folder', async () => {
  await using run = await folder()
  const store = new CheckpointStore(run.path)
  const stored = await store.write(12, 1, files)
  expect(stored.id).toMatch(/^000012-[0-9a-f]{16}$/)
  expect(stored.path).toBe(`checkpoints/${stored.id}`)
  expect(await store.write(12, 2, files)).toEqual(stored)
  expect(await names(run.path)).toEqual([stored.id])
  const read = await store.read(stored)
  expect([...read].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])).toEqual([
    ['model.safetensors', 'weights'],
    ['config.json', '{}'],
  ])
  expect([...(await store.read(stored, ['config.json'])).keys()]).toEqual(['config.json'])
  const other = await store.write(12, 1, [files[0]!, { name: 'config.json', bytes: Buffer.from('{ }') }])
  expect(other.id).not.toBe(stored.id)
})

test('a folder of the final name that is not whole is written again', async () => {
  await using run = await folder()
  const store = new CheckpointStore(run.path)
  const stored = await store.write(1, 1, files)
  const file = join(run.path, stored.path, 'model.safetensors')
  for (const damage of [() => writeFile(file, 'WEIGHTS'), () => writeFile(file, 'w'), () => rm(file)]) {
    await damage()
    expect(await store.write(1, 2, files)).toEqual(stored)
    expect(await readFile(file, 'utf8')).toBe('weights')
  }
})

test('a damaged or missing file is named', async () => {
  await using run = await folder()
  const store = new CheckpointStore(run.path)
  const stored = await store.write(1, 1, files)
  const file = join(run.path, stored.path, 'config.json')
  await appendFile(file, ' ')
  await expect(store.read(stored)).rejects.toMatchObject({
    code: 'CHECKPOINT_INVALID',
    message: expect.stringMatching(/config\.json: expected 2 bytes with .*, got 3 bytes with/) as string,
  })
  await rm(file)
  await expect(store.read(stored)).rejects.toMatchObject({
    code: 'CHECKPOINT_NOT_FOUND',
    message: expect.stringContaining(`${file}: expected a file of 2 bytes, got none`) as string,
  })
})

test.each(['checkpoint:written', 'checkpoint:synced', 'checkpoint:renamed'])(
  'what a failure at %s leaves is whole or absent, and is pruned',
  async (point) => {
    await using run = await folder()
    const failing = new CheckpointStore(run.path, (at) => {
      if (at === point) throw new Error('stop')
    })
    await expect(failing.write(1, 1, files)).rejects.toMatchObject({ code: 'RUN_DIR_UNUSABLE' })
    const left = await names(run.path)
    expect(left).toHaveLength(point === 'checkpoint:renamed' ? 1 : 0)
    const store = new CheckpointStore(run.path)
    const stored = await store.write(1, 2, files)
    expect((await store.read(stored)).size).toBe(2)
    expect(await names(run.path)).toEqual([stored.id])
  },
)

test('prune keeps what is named and removes the rest, half-written folders too', async () => {
  await using run = await folder()
  const store = new CheckpointStore(run.path)
  expect(await store.prune(new Set())).toEqual([])
  const [one, two] = [await store.write(1, 1, files), await store.write(2, 1, files)]
  await mkdir(join(run.path, 'checkpoints', '.tmp-000003-abc-1'))
  expect((await store.prune(new Set([two.id]))).sort()).toEqual(['.tmp-000003-abc-1', one.id])
  expect(await names(run.path)).toEqual([two.id])
})

/** The system calls that matter, in the order in which they ended, with the folder's own name shortened. */
function callsOf(trace: string, parent: string): string[] {
  return trace.split('\n').flatMap((line) => {
    const sync = /f(?:data)?sync\(\d+<([^>]*)>\)\s*= 0/.exec(line)
    const renamed = /rename\w*\(.*?"([^"]*)".*?"([^"]*)".*= 0/.exec(line)
    const short = (path: string) =>
      path
        .replace(parent, 'P')
        .replace(/\.tmp-[^/]*/, 'tmp')
        .replace(/\d{6}-\w{16}/, 'final')
    if (sync) return [`sync ${short(sync[1]!)}`]
    return renamed ? [`rename ${short(renamed[1]!)} ${short(renamed[2]!)}`] : []
  })
}

const canTrace = spawnSync('strace', ['-f', '-e', 'trace=write', 'true']).status === 0

describe.runIf(canTrace)('a trace of system calls', () => {
  test('shows every file synced, then its folder, then the rename, then the parent synced', async () => {
    await using run = await folder()
    const output = join(run.path, 'trace')
    const child = join(import.meta.dirname, 'children/write-checkpoint.ts')
    const options = [
      '-ff',
      '-ttt',
      '-y',
      '-e',
      'trace=fsync,fdatasync,rename,renameat,renameat2',
      '-o',
      output,
    ]
    execFileSync('strace', [...options, process.execPath, child, run.path], { stdio: 'pipe' })
    const trace = execFileSync('sh', ['-c', `cat ${output}.* | sort -n -s -k1,1`], { encoding: 'utf8' })
    expect(callsOf(trace, join(run.path, 'checkpoints'))).toEqual([
      `sync ${run.path}`,
      'sync P/tmp/model.safetensors',
      'sync P/tmp/config.json',
      'sync P/tmp',
      'rename P/tmp P/final',
      'sync P',
    ])
  })
})

const canMount =
  process.platform === 'linux' &&
  spawnSync('sh', ['-c', 'd=$(mktemp -d) && mount -t tmpfs -o size=1m tmpfs $d && umount $d && rmdir $d'])
    .status === 0

describe.runIf(canMount)('a full disk', () => {
  test('is LOG_FULL, with nothing under the final name or a temporary one', async () => {
    await using run = await folder()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', run.path])
    try {
      const store = new CheckpointStore(run.path)
      const kept = await store.write(1, 1, files)
      const large = [files[1]!, { name: 'model.safetensors', bytes: Buffer.alloc(400_000, 1) }]
      await expect(store.write(2, 1, large)).rejects.toMatchObject({
        code: 'LOG_FULL',
        message: expect.stringMatching(/checkpoints\/000002-\w+: cannot write .*the disk is full/) as string,
      })
      expect(await names(run.path)).toEqual([kept.id])
      execFileSync('mount', ['-o', 'remount,size=4m', run.path])
      const stored = await store.write(2, 1, large)
      expect(existsSync(join(run.path, stored.path, 'model.safetensors'))).toBe(true)
    } finally {
      execFileSync('umount', ['--lazy', run.path])
    }
  })
})
