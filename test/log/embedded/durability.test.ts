import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { writingProcess } from '../../../src/log/index.ts'
import { Child } from './child.ts'
import { temporaryFolder } from './folder.ts'

/** What a system call does for the log. */
type Call = 'data' | 'sync' | 'meta' | 'ack'

const canTrace = spawnSync('strace', ['-f', '-e', 'trace=write', 'true']).status === 0

/**
 * LMDB writes a transaction's pages, syncs them, then writes one header page through a descriptor that syncs each
 * write by itself (`O_DSYNC`).
 */
function calls(trace: string, data: string): Call[] {
  const found: Call[] = []
  let metaFd = -1
  for (const line of trace.split('\n')) {
    if (line.includes(`"${data}"`) && line.includes('O_DSYNC')) metaFd = Number(/= (\d+)/.exec(line)![1])
    if (/write\(1<.*"ack \d+/.test(line)) found.push('ack')
    const call = new RegExp(`(\\w+)\\((\\d+)<${data}>.*= \\d+`).exec(line)
    if (!call) continue
    if (/^p?writev?(64)?$/.test(call[1]!)) found.push(Number(call[2]) === metaFd ? 'meta' : 'data')
    if (/^(fdatasync|fsync|msync)$/.test(call[1]!)) found.push('sync')
  }
  return found
}

describe.runIf(canTrace)('a trace of system calls', () => {
  test('shows that data and header are on the disk before a commit is acknowledged', async () => {
    using folder = temporaryFolder()
    const output = join(folder.path, 'trace')
    const dir = join(folder.path, 'log')
    const traced = 'write,pwrite64,pwritev,writev,fdatasync,fsync,msync,openat'
    // A file a thread, so that no line is torn; put together by the time at which the calls began.
    await using writer = new Child(
      'writer.ts',
      [dir, '30', '20000'],
      ['strace', '-ff', '-ttt', '-y', '-s', '16', '-e', `trace=${traced}`, '-o', output],
    )
    await writer.line((line) => line === 'done')
    // The tracer ends with what it traces.
    process.kill((await writingProcess(dir))!, 'SIGKILL')
    await writer.exited
    const lines = spawnSync('sh', ['-c', `cat ${output}.* | sort -n -s -k1,1`], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    })
    const order = calls(lines.stdout, join(dir, 'data.mdb'))
    expect(order.filter((call) => call === 'ack')).toHaveLength(30)
    const transactions = order.filter((call) => call === 'meta').length
    expect(transactions).toBeGreaterThan(3)
    let before: Call | undefined
    for (const call of order) {
      if (call === 'meta') expect(before).toBe('sync')
      if (call === 'ack') expect(['meta', 'ack']).toContain(before)
      before = call
    }
  })
})
