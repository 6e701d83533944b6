import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type EmbeddedLog, openLog } from '../src/log/index.ts'
import { follow } from '../streams/follow.ts'
import { childrenOf, statusOf } from '../test/processes.ts'
import { deadLetters, rewards, rollouts } from '../topics/index.ts'
import type { Figure } from './figure.ts'
import { type Fault, isFaulty, scoreOf } from './workloads/faulty-verifier.ts'

export const summary =
  'a thousand hangs, crashes and memory bombs each in a run: latency of the other verdicts, processes, memory'

const domain = 'math'
/** Processes that judge. */
const size = 16
/** Steps in which the processes start. */
const warmUp = 2
/** One rollout in so many does harm. */
const faultEvery = 100
/** By which their processes can be told from those of the verifier that evaluates. */
const memoryMb = 200
const module = new URL('./workloads/faulty-verifier.ts', import.meta.url).pathname

const configOf = (fault: Fault, every: number) => ({
  model: { layers: 2, hidden: 64, heads: 4, kvHeads: 2, maxLength: 64 },
  evaluation: { prompts: 4 },
  verify: { concurrency: 256, attempts: 1 },
  verifiers: {
    faulty: {
      kind: 'file',
      file: module,
      options: { fault, every },
      concurrency: size,
      wallMs: 200,
      memoryMb,
    },
  },
  stages: [
    {
      kind: 'rl',
      name: 'rl',
      domain,
      task: 'math',
      verifier: 'faulty',
      steps: 100_000,
      patience: 100_000,
      prompts: 64,
      groupSize: 8,
      maxTokens: 32,
      lr: 1e-5,
      maxErrorShare: 1,
    },
  ],
})

/**
 * The 99th percentile of the latency of verdicts on rollouts that do no harm, in milliseconds, against a run without any that do, just before;
 * and the anonymous memory of the run's process at the end against that after a fifth. `each` faults of a kind; a tenth of that of
 * hangs that spin. Each judgement has 200 ms, and 30 ms of waiting where it does no harm.
 *
 * @throws where a fault has a score, another rollout has none or a wrong one, there are more processes than there should be, or one
 * outlives the run
 */
export async function* run(each = 1_000, faults: readonly Fault[] = all): AsyncGenerator<Figure> {
  for (const fault of faults) {
    const began = performance.now()
    const count = fault === 'spin' ? each / 10 : each
    const calm = await load(fault, 0, (count * faultEvery) / 5)
    const harmed = await load(fault, faultEvery, count * faultEvery)
    const figure = (name: string, ours: number, peer: number, unit: string): Figure => ({
      bench: 'verifier-faults',
      figure: name,
      ours: Number(ours.toFixed(1)),
      peer: Number(peer.toFixed(1)),
      ratio: Number((peer / ours).toFixed(2)),
      unit,
      seconds: (performance.now() - began) / 1000,
    })
    yield figure(
      `${harmed.faults} ${names[fault]}, p99 of the others/undisturbed`,
      harmed.p99,
      calm.p99,
      'ms',
    )
    yield figure(
      `${names[fault]}, rollouts judged a second/undisturbed`,
      harmed.rate,
      calm.rate,
      'rollouts/s',
    )
    yield figure(`${names[fault]}, memory at the end/after a fifth`, harmed.rss.end, harmed.rss.fifth, 'MB')
  }
}

const all = ['sleep', 'crash', 'memory', 'spin'] as const

const names = {
  sleep: 'hangs that sleep',
  crash: 'crashes',
  memory: 'memory bombs',
  spin: 'hangs that spin',
} as const

interface Loaded {
  faults: number
  p99: number
  rate: number
  rss: { fifth: number; end: number }
}

/** A run until `count` rollouts have been judged or lost. */
async function load(fault: Fault, every: number, count: number): Promise<Loaded> {
  const dir = mkdtempSync(join(tmpdir(), 'cascade-bench-'))
  const file = join(dir, 'cascade.config.mjs')
  writeFileSync(file, `export default ${JSON.stringify(configOf(fault, every))}\n`)
  const program = new URL('../bin/cascade.js', import.meta.url).pathname
  const child = spawn(process.execPath, [program, 'run', file, '--dir', join(dir, 'run'), '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (text) => String(text).includes('"event":"step"') && resolve())
      child.once('exit', (code) => reject(new Error(`the run ended with ${code} before its first step`)))
    })
    await using log = await openLog({
      dir: join(dir, 'run', 'log'),
      mode: 'read',
      clock: { now: () => Date.now() },
    })
    const done = () => log.offset(rewards(domain).name, 'latest')
    const seen = new Set<number>()
    const [began, first] = [performance.now(), await done()]
    let fifth = 0
    for (let at = first; at < count; at = await done()) {
      const judges = judgesOf(child.pid!)
      if (judges.length > size + 1)
        throw new Error(`expected ${size} processes that judge and a spare one, got ${judges.length}`)
      for (const pid of judges) seen.add(pid)
      if (fifth === 0 && at >= count / 5) fifth = anonymous(child.pid!)
      if (child.exitCode !== null) throw new Error(`the run ended with ${child.exitCode}`)
      await wait(200)
    }
    const rate = Math.max(1, (await done()) - first) / ((performance.now() - began) / 1000)
    const end = anonymous(child.pid!)
    child.kill('SIGINT')
    await once(child, 'exit')
    const left = [...seen].filter((pid) => statusOf(pid) !== undefined)
    if (left.length > 0) throw new Error(`expected no process to be left, got ${left.join()}`)
    return { ...(await checked(log, every)), rate, rss: { fifth, end } }
  } finally {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}

/** After all that must hold of the rewards has been looked at. */
async function checked(log: EmbeddedLog, every: number): Promise<Pick<Loaded, 'faults' | 'p99'>> {
  const { signal } = new AbortController()
  const read = { from: 0, until: 'end', signal } as const
  const right = new Map<string, number>()
  await follow(log, rollouts(domain), read, ({ value }) => {
    right.set(value.id, scoreOf(value.responseText))
  })
  const latencies: number[] = []
  let faults = 0
  await follow(
    log,
    rewards(domain),
    read,
    async ({ value: { id, kind, score, reason, step, rewards: parts } }) => {
      const bad = isFaulty(id, every)
      if (bad ? kind !== 'member-lost' : score !== right.get(id)) {
        throw new Error(
          `${await whyOf(log, id)}rollout ${id}: expected ${bad ? 'no score' : right.get(id)}, got ${score} (${reason})`,
        )
      }
      right.delete(id)
      if (bad) faults += 1
      else if (step > warmUp) latencies.push(parts[0]!.latencyMs)
    },
  )
  const sorted = latencies.toSorted((a, b) => a - b)
  return { faults, p99: sorted[Math.floor(sorted.length * 0.99)]! }
}

/** What the dead letter of a rollout says of it. */
async function whyOf(log: EmbeddedLog, id: string): Promise<string> {
  let why = ''
  const { signal } = new AbortController()
  await follow(log, deadLetters(rollouts(domain).name), { from: 0, until: 'end', signal }, ({ value }) => {
    const { raw, ...rest } = value
    if (rollouts(domain).decode(raw).id === id) why = `${JSON.stringify(rest)}: `
  })
  return why
}

/** Processes of the verifier that is harmed. */
function judgesOf(parent: number): number[] {
  return childrenOf(parent, `--max-old-space-size=${memoryMb}`)
}

/** Megabytes that are not of files: the log's pages are not counted. */
function anonymous(pid: number): number {
  return Number(/^RssAnon:\s+(\d+)/m.exec(statusOf(pid) ?? '')?.[1] ?? Number.NaN) / 1e3
}
