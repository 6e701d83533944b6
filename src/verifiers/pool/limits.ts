import { readFileSync } from 'node:fs'

/** Bounds of one judgement; what passes them is an error of the verifier, never a score. */
export interface Limits {
  /** Milliseconds from its beginning. */
  readonly wallMs: number
  /** Milliseconds of processor time. Enforced where the system tells it (Linux). @default as wallMs */
  readonly cpuMs?: number
  /** Megabytes of the whole process, its JavaScript heap among them. Outside Linux the heap alone is bounded. */
  readonly memoryMb: number
  /** Bytes of a verdict's detail as JSON. */
  readonly outputBytes: number
}

export const defaultLimits: Limits = { wallMs: 10_000, memoryMb: 512, outputBytes: 65_536 }

export interface Usage {
  /** Milliseconds of processor time so far, user and system. */
  cpuMs: number
  rssMb: number
}

/** Of the kernel's counters in `/proc`, which are in 1/100 s on every Linux that Node runs on. */
const tickMs = 10

/** What a process has used; undefined where the system does not say, or the process is gone. */
export function usageOf(pid: number): Usage | undefined {
  if (process.platform !== 'linux') return undefined
  let stat: string
  let status: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    // It has just ended: its exit is reported on its own.
    return undefined
  }
  // The second field, the name in parentheses, may hold anything; utime and stime are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const rss = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs, rssMb: Number(rss ?? 0) / 1024 }
}
