import { spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { processStart } from '../../../src/log/embedded/process-identity.ts'
import { Pool, type PoolOptions } from '../../../src/verifiers/pool/index.ts'

const module = new URL('./judges.ts', import.meta.url).href
const misbehaving = { module, name: 'misbehaving' }

function poolOf(size: number, options: Partial<PoolOptions> = {}, target = misbehaving): Pool {
  return new Pool(target, { size, ...options, limits: { wallMs: 600, memoryMb: 150, ...options.limits } })
}

const scoreOf = async (pool: Pool, n: number) => (await pool.submit(['score', n])).verdict

async function until(what: () => boolean): Promise<void> {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 10))
}

const lives = (pid: number) => processStart(pid) !== undefined

test('every request has its own verdict, whatever the number of processes', async () => {
  await using pool = poolOf(3)
  const verdicts = await Promise.all(Array.from({ length: 500 }, (_, i) => pool.submit(['score', i])))
  expect(verdicts.map((v) => v.verdict)).toEqual(verdicts.map((_, i) => ({ outcome: 'score', score: i })))
  expect(pool.pids).toHaveLength(3)
  expect(pool.restarts).toBe(0)
})

test('a signal that outlives its requests keeps nothing of them', async () => {
  await using pool = poolOf(2)
  const { signal } = new AbortController()
  const all = Array.from({ length: 100 }, (_, i) => pool.submit(['score', i], signal))
  expect(getEventListeners(signal, 'abort')).toHaveLength(100)
  await Promise.all(all)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a process whose answer came in time is kept, though this one was too busy to read it', async () => {
  await using pool = poolOf(2, { limits: { wallMs: 300 } })
  await scoreOf(pool, 0)
  const slow = [pool.submit(['sleep', 100]), pool.submit(['sleep', 100])]
  await new Promise((resolve) => setTimeout(resolve, 60))
  // Just before timers are looked at, which is before messages are.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700))
  for (const { verdict } of await Promise.all(slow)) expect(verdict.outcome).toBe('score')
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(pool.restarts).toBe(0)
})

test('what a process has compiled is there for the next one, though it is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cascade-compiled-'))
  process.env.NODE_COMPILE_CACHE = folder
  try {
    await using pool = poolOf(1)
    await scoreOf(pool, 1)
    await until(() => readdirSync(folder, { recursive: true }).length > 1)
  } finally {
    delete process.env.NODE_COMPILE_CACHE
    rmSync(folder, { recursive: true })
  }
})

test('a process sees no variable that it has no use for', async () => {
  process.env.POOL_TEST_SECRET = 'hidden'
  await using pool = poolOf(1)
  const { verdict } = await pool.submit(['env', 'POOL_TEST_SECRET'])
  expect(verdict).toMatchObject({ detail: null })
})

describe('what goes wrong with a request is an error of it alone', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['a loop', ['spin'], 'VERIFIER_TIMEOUT', /took more than 600 ms/],
    ['a promise that never settles', ['forever'], 'VERIFIER_TIMEOUT', /took more than 600 ms/],
    ['a heap that grows', ['heap'], 'VERIFIER_FAILED', /out of memory at 150 MB/],
    ['a process that ends', ['exit', 0], 'VERIFIER_FAILED', /ended with code 0/],
    ['a crash', ['signal'], 'VERIFIER_FAILED', /ended with SIGSEGV/],
    ['an exception', ['throw', 'broken'], 'VERIFIER_FAILED', /threw: broken/],
    ['a detail without end', ['detail', 100_000], 'VERIFIER_FAILED', /at most 65536 bytes, got 100002/],
  ])('%s', async (_, request, code, message) => {
    // What is no matter of time has all the time that it takes on a busy machine.
    const wallMs = code === 'VERIFIER_TIMEOUT' ? 600 : 60_000
    await using pool = poolOf(2, { limits: { wallMs, memoryMb: 150 } })
    const before = Array.from({ length: 40 }, (_, i) => scoreOf(pool, i))
    const bad = pool.submit(request)
    const after = Array.from({ length: 40 }, (_, i) => scoreOf(pool, 100 + i))
    const { verdict } = await bad
    expect(verdict).toMatchObject({ outcome: 'failed', code })
    expect((verdict as { message: string }).message).toMatch(message)
    expect(await Promise.all(before)).toEqual(before.map((_, i) => ({ outcome: 'score', score: i })))
    expect(await Promise.all(after)).toEqual(after.map((_, i) => ({ outcome: 'score', score: 100 + i })))
    expect(await scoreOf(pool, 7)).toEqual({ outcome: 'score', score: 7 })
  })

  test.runIf(process.platform === 'linux')('memory outside the heap', async () => {
    await using pool = poolOf(1, { limits: { wallMs: 20_000, memoryMb: 150 } })
    const { verdict } = await pool.submit(['buffers'])
    expect(verdict).toMatchObject({ outcome: 'failed', message: 'out of memory at 150 MB' })
  })

  test.runIf(process.platform === 'linux')('processor time, while the wall clock has room', async () => {
    await using pool = poolOf(1, { limits: { wallMs: 60_000, cpuMs: 300 } })
    const { verdict } = await pool.submit(['spin'])
    expect(verdict).toMatchObject({
      code: 'VERIFIER_TIMEOUT',
      message: 'took more than 300 ms of processor time',
    })
  })
})

test('slow judges count from their own beginning, not from that of their chunk', async () => {
  await using pool = poolOf(1)
  const slow = Array.from({ length: 5 }, () => pool.submit(['sleep', 250]))
  const verdicts = await Promise.all(slow)
  expect(verdicts.map((v) => v.verdict.outcome)).toEqual(Array(5).fill('score'))
  expect(verdicts.every((v) => v.ms >= 240)).toBe(true)
})

describe('nothing waits behind what takes long', () => {
  const quick = (pool: Pool, n: number) => Promise.all(Array.from({ length: n }, (_, i) => scoreOf(pool, i)))

  test.each([['forever'], ['spin']])('a hang (%s) keeps its process and no request', async (what) => {
    await using pool = poolOf(2, { limits: { wallMs: 30_000 } })
    await quick(pool, 50)
    const abort = new AbortController()
    // Dealt out together: some stand behind the hang, in its own process.
    const hang = pool.submit([what], abort.signal)
    const others = await quick(pool, 60)
    expect(others).toEqual(others.map((_, i) => ({ outcome: 'score', score: i })))
    expect(pool.restarts).toBe(0)
    abort.abort(new Error('enough'))
    await expect(hang).rejects.toThrow('enough')
  })

  test('a slow one ends well, and those behind it have one verdict each', async () => {
    await using pool = poolOf(2, { limits: { wallMs: 30_000 } })
    await quick(pool, 50)
    const slow = pool.submit(['sleep', 300])
    const others = await quick(pool, 60)
    expect(others).toEqual(others.map((_, i) => ({ outcome: 'score', score: i })))
    expect((await slow).verdict.outcome).toBe('score')
    expect(await quick(pool, 50)).toEqual(others.slice(0, 50))
    expect(pool.restarts).toBe(0)
  })
})

test.runIf(process.platform === 'linux')('what a judge has started ends with it', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'pool-')), 'pid')
  await using pool = poolOf(1)
  expect((await pool.submit(['spawn', file])).verdict.outcome).toBe('failed')
  const pid = Number(readFileSync(file, 'utf8'))
  await until(() => !lives(pid))
})

test('many hangs, crashes and bombs leave as many processes as before', async () => {
  await using pool = poolOf(2, { limits: { wallMs: 150, memoryMb: 100 } })
  const kinds = [['spin'], ['exit', 3], ['heap'], ['signal']]
  const mixed = Array.from({ length: 24 }, (_, i) => pool.submit(i % 2 ? ['score', i] : kinds[(i / 2) % 4]))
  const outcomes = (await Promise.all(mixed)).map((v) => v.verdict.outcome)
  expect(outcomes).toEqual(mixed.map((_, i) => (i % 2 ? 'score' : 'failed')))
  // Two that judge, and one that has started for the next that is lost.
  await until(() => pool.pids.length === 3)
  // Once for each, and again where a process ended before it was known what it had begun with: three times at most.
  expect(pool.restarts).toBeGreaterThanOrEqual(12)
  expect(pool.restarts).toBeLessThanOrEqual(3 * 12)
})

describe('an abort', () => {
  test.each([['polite'], ['forever'], ['spin']])('reaches a judge that is at work (%s)', async (what) => {
    await using pool = poolOf(1, { limits: { wallMs: 60_000 } })
    const abort = new AbortController()
    const running = pool.submit([what], abort.signal)
    const other = scoreOf(pool, 5)
    await until(() => pool.pids.length === 1)
    setTimeout(() => abort.abort(new Error('no longer wanted')), 300)
    await expect(running).rejects.toThrow('no longer wanted')
    expect(await other).toEqual({ outcome: 'score', score: 5 })
  })

  test('before its turn costs nothing', async () => {
    await using pool = poolOf(1)
    const abort = new AbortController()
    const running = pool.submit(['sleep', 200])
    const waiting = pool.submit(['spin'], abort.signal)
    abort.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect((await running).verdict.outcome).toBe('score')
    expect(pool.restarts).toBe(0)
  })

  test('that came first is the answer', async () => {
    await using pool = poolOf(1)
    await expect(pool.submit(['score', 1], AbortSignal.abort(new Error('early')))).rejects.toThrow('early')
  })
})

describe('a judge that cannot be made', () => {
  test.each([
    ['throws', { module, name: 'unwilling' }, /could not start: no model here/],
    [
      'is no function',
      { module, name: 'missing' },
      /expected it to export a function missing, got undefined/,
    ],
    ['has no module', { module: `${module}.gone`, name: 'x' }, /could not start: Cannot find module/],
  ])('%s: an error that may pass', async (_, target, message) => {
    await using pool = poolOf(2, {}, target)
    const verdicts = await Promise.all([1, 2, 3].map((n) => scoreOf(pool, n)))
    for (const verdict of verdicts) {
      expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: true })
      expect((verdict as { message: string }).message).toMatch(message)
    }
    expect((await scoreOf(pool, 4)).outcome).toBe('failed')
    await expect(pool.started).rejects.toMatchObject({
      code: 'VERIFIER_FAILED',
      message: expect.stringMatching(message),
    })
  })

  test('one that can is ready when it says so', async () => {
    await using pool = poolOf(1)
    await pool.started
    expect(await scoreOf(pool, 4)).toEqual({ outcome: 'score', score: 4 })
  })

  test('a pool that closes before it has started says so', async () => {
    const pool = poolOf(1)
    const started = pool.started.catch((error: Error) => error.message)
    await pool[Symbol.asyncDispose]()
    expect(await started).toBe('pool: closed before it had started')
  })
})

test.runIf(process.platform === 'linux')(
  'a process caught in a loop ends when its parent is killed',
  async () => {
    const script = `
    const { Pool } = await import(${JSON.stringify(new URL('../../../src/verifiers/pool/index.ts', import.meta.url).href)})
    const pool = new Pool({ module: ${JSON.stringify(module)}, name: 'misbehaving' }, { size: 1, limits: { wallMs: 60000 } })
    await pool.submit(['score', 1])
    void pool.submit(['spin'])
    setTimeout(() => console.log(pool.pids[0]), 200)
  `
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script])
    const [out] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(String(out))
    expect(lives(pid)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !lives(pid))
  },
)

test('closing ends the processes and answers what waits', async () => {
  const pool = poolOf(2)
  const waiting = [pool.submit(['forever']), pool.submit(['spin']), pool.submit(['score', 1])]
  await until(() => pool.pids.length === 2)
  const pids = pool.pids
  await pool[Symbol.asyncDispose]()
  expect(pids.filter(lives)).toEqual([])
  for (const { verdict } of await Promise.all(waiting))
    expect(verdict).toMatchObject({ outcome: 'failed', retryable: false })
  expect((await pool.submit(['score', 1])).verdict).toMatchObject({ message: 'the pool is closed' })
})

test('a size that is none is refused', () => {
  expect(() => poolOf(0)).toThrow('pool: expected a size of at least 1, got 0')
})

test('the time limit of a request begins when its process begins with it', async () => {
  await using pool = poolOf(1, { limits: { wallMs: 200 } })
  const score = { outcome: 'score', score: 1 }
  expect((await pool.submit(['then-block', 600])).verdict).toEqual(score)
  // The process gets it while it stands still.
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await pool.submit(['score', 1])).verdict).toEqual(score)
  expect(pool.restarts).toBe(0)
})

test('a process that never gets to its next request is replaced', async () => {
  await using pool = poolOf(1, { limits: { wallMs: 200 } })
  await pool.submit(['then-block', 60_000])
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await pool.submit(['score', 1])).verdict).toEqual({ outcome: 'score', score: 1 })
  expect(pool.restarts).toBe(1)
})
