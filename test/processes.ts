import { readdirSync, readFileSync } from 'node:fs'

/** What `/proc` says of processes: on Linux only. */

/** The status of a process that lives; a zombie has ended, only its parent has not asked yet. */
export function statusOf(pid: number): string | undefined {
  const status = fileOf(pid, 'status')
  return status && /^State:\s+Z/m.test(status) ? undefined : status
}

/** Living processes whose parent has this id, and whose command line holds a text. */
export function childrenOf(parent: number, command = ''): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) => statusOf(pid)?.includes(`\nPPid:\t${parent}\n`) && fileOf(pid, 'cmdline')?.includes(command),
    )
}

function fileOf(pid: number, name: 'status' | 'cmdline'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined // no such process, or no longer
  }
}
