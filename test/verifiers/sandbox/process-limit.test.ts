import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  findProcessLimit,
  maxProcesses,
  openBubblewrapSandbox,
} from '../../../src/verifiers/sandbox/index.ts'
import { program } from './program.ts'

const works = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).status === 0
const signal = new AbortController().signal

/** Tasks of processes that descend from this one and live behind walls, in a process namespace of their own. */
function walledTasks(): number {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    const stat = read(() => readFileSync(`/proc/${name}/stat`, 'utf8'))
    const parent = / [A-Z] (\d+) /.exec(stat ?? '')?.[1]
    if (parent) parents.set(Number(name), Number(parent))
  }
  const ours = (pid: number): boolean => pid === process.pid || (pid > 1 && ours(parents.get(pid) ?? 0))
  const home = readlinkSync('/proc/self/ns/pid')
  return [...parents.keys()]
    .filter((pid) => pid !== process.pid && ours(pid))
    .filter((pid) => (read(() => readlinkSync(`/proc/${pid}/ns/pid`)) ?? home) !== home)
    .reduce((sum, pid) => sum + (read(() => readdirSync(`/proc/${pid}/task`).length) ?? 0), 0)
}

function read<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined // gone in between
  }
}

const bomb = `
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
`

const leftovers = `
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 64)
        time.sleep(60)
        os._exit(0)
while True: pass
`

describe.runIf(works)('with bubblewrap', () => {
  const limited = works && findProcessLimit().kind !== 'none'

  it.runIf(limited)(
    'holds a program that forks without end to so many processes, and ends all of them',
    async () => {
      await using sandbox = openBubblewrapSandbox({ jobs: 1 })
      let most = 0
      const watch = setInterval(() => {
        most = Math.max(most, walledTasks())
      }, 100)
      const ran = await sandbox.run(program('python', bomb, { timeoutMs: 4000 }), signal)
      clearInterval(watch)
      expect(ran.end).toBe('timeout')
      expect(most).toBeGreaterThan(maxProcesses / 2)
      expect(most).toBeLessThanOrEqual(maxProcesses + 2)
      await expect.poll(walledTasks, { timeout: 5000 }).toBe(0)
      const after = await sandbox.run(program('python', 'print(1)'), signal)
      expect(after).toMatchObject({ end: 'completed', stdout: '1\n' })
    },
  )

  it('leaves nothing of a program at its time limit, though its children hid', async () => {
    await using sandbox = openBubblewrapSandbox({ jobs: 1 })
    const running = sandbox.run(program('python', leftovers, { timeoutMs: 4000 }), signal)
    await expect.poll(walledTasks, { timeout: 3900 }).toBeGreaterThanOrEqual(20)
    expect((await running).end).toBe('timeout')
    await expect.poll(walledTasks, { timeout: 5000 }).toBe(0)
  })

  it('leaves no group behind', async () => {
    const limit = findProcessLimit()
    const groups = () =>
      (limit.kind === 'cgroup' ? readdirSync(limit.parent) : []).filter((n) => n.includes(`-${process.pid}-`))
    await expect.poll(groups, { timeout: 5000 }).toEqual([])
    const sandbox = openBubblewrapSandbox({ jobs: 3 })
    expect(groups().length).toBeGreaterThanOrEqual(limit.kind === 'cgroup' ? 3 : 0)
    await sandbox[Symbol.asyncDispose]()
    await expect.poll(groups, { timeout: 5000 }).toEqual([])
  })
})
