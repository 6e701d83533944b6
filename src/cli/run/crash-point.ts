import type { Probe } from '../../../streams/ports.ts'

/**
 * For tests of recovery: `CASCADE_CRASH_AT=<point>[@<n>]` kills this process, as a crash would, when it comes to the
 * point for the n-th time (see {@link Probe} for the names).
 */
export function crashPoint(env: Readonly<Record<string, string | undefined>>): Probe {
  const wanted = env.CASCADE_CRASH_AT
  if (!wanted) return () => undefined
  const [, name, times] = /^(.*?)(?:@(\d+))?$/.exec(wanted) ?? []
  let left = Number(times ?? 1)
  return (point) => {
    if (point !== name) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
