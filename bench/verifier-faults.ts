import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from '../src/verifiers/pool/index.ts'
import type { Figure } from './figure.ts'
import type { Fault } from './workloads/faulty-judge.ts'

export const summary =
  'a thousand hangs, crashes and memory bombs each in a pool of verifiers: latency of the others, processes, memory'

const module = new URL('./workloads/faulty-judge.ts', import.meta.url).href
const size = 8
const limits = { wallMs: 500, memoryMb: 200 }
/** A request every so many milliseconds, half of what the pool could do; a fault every so many requests. */
const paceMs = 15
const faultEvery = 12

/**
 * The 99th percentile of the latency of requests without a fault, in milliseconds from submission to verdict, against a pool of the
 * same load without faults, and the memory of this process at the end against that after a fifth. `each` faults of a kind; a tenth of that
 * of hangs that spin.
 *
 * @throws where a fault is not an error, another request is not scored, the number of processes changes, or one is left over
 */
export async function run(each = 1_000): Promise<Figure[]> {
  const undisturbed = await load('none', each / 5)
  const figures: Figure[] = []
  for (const fault of ['sleep', 'crash', 'memory', 'spin'] as const) {
    const { p99, rss, seconds } = await load(fault, fault === 'spin' ? each / 10 : each)
    const figure = (name: string, ours: number, peer: number, unit: string): Figure => ({
      bench: 'verifier-faults',
      figure: name,
      ours: Number(ours.toFixed(1)),
      peer: Number(peer.toFixed(1)),
      ratio: Number((peer / ours).toFixed(2)),
      unit,
      seconds,
    })
    figures.push(
      figure(`${names[fault]}, p99 of the others/undisturbed`, p99, undisturbed.p99, 'ms'),
      figure(`${names[fault]}, memory at the end/after a fifth`, rss.end, rss.fifth, 'MB'),
    )
  }
  return figures
}

const names = {
  sleep: 'hangs that sleep',
  crash: 'crashes',
  memory: 'memory bombs',
  spin: 'hangs that spin',
} as const

interface Loaded {
  p99: number
  rss: { fifth: number; end: number }
  seconds: number
}

async function load(bad: Fault, count: number): Promise<Loaded> {
  const began = performance.now()
  const pool = new Pool({ module, name: 'faultyJudge' }, { size, limits })
  const latencies: number[] = []
  const all: Promise<void>[] = []
  let fifth = 0
  const submit = async (fault: Fault) => {
    const start = performance.now()
    const { verdict } = await pool.submit(fault)
    if (verdict.outcome !== (fault === 'none' ? 'score' : 'failed'))
      throw new Error(`${fault}: got ${JSON.stringify(verdict)}`)
    if (fault === 'none') latencies.push(performance.now() - start)
  }
  await Promise.all(Array.from({ length: size * 4 }, () => submit('none')))
  latencies.length = 0
  const seen = new Set<number>()
  for (let i = 0; i < count * faultEvery; i++) {
    all.push(submit(i % faultEvery === 0 ? bad : 'none'))
    if (i % 64 === 0) for (const pid of pool.pids) seen.add(pid)
    if (i === Math.floor((count * faultEvery) / 5)) fifth = process.memoryUsage.rss()
    await wait(paceMs)
  }
  await Promise.all(all)
  const end = process.memoryUsage.rss()
  await Promise.all(Array.from({ length: size * 4 }, () => submit('none')))
  if (pool.pids.length !== size) throw new Error(`expected ${size} processes, got ${pool.pids.length}`)
  for (const pid of pool.pids) seen.add(pid)
  await pool[Symbol.asyncDispose]()
  const left = [...seen].filter(lives)
  if (left.length > 0) throw new Error(`expected no process to be left, got ${left.join()}`)
  const sorted = latencies.toSorted((a, b) => a - b)
  return {
    p99: sorted[Math.floor(sorted.length * 0.99)]!,
    rss: { fifth: fifth / 1e6, end: end / 1e6 },
    seconds: (performance.now() - began) / 1000,
  }
}

function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    // No such process: that is what is hoped for.
    return false
  }
}
