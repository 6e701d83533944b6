import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Figure } from './figure.ts'
import { runPeer } from './peers/python.ts'

export const summary =
  '100,000 rollouts of verl imported: against Python that parses them into SQLite, and memory by size'

const workload = fileURLToPath(new URL('./workloads/import-rows.ts', import.meta.url))
const report = z.object({ seconds: z.number(), rows: z.number(), heap: z.number(), rss: z.number() })
const megabyte = 1024 * 1024

/** Groups of eight, steps of 1,024 rows, 1.1 KiB a row. */
function* rows(count: number): Generator<string> {
  for (let i = 0; i < count; i++) {
    const group = Math.floor(i / 8)
    const row = {
      input: `user\nWhat is ${group}+${group * 7}? ${'Think step by step. '.repeat(10)}`,
      output: `${'So we add the numbers and get something. '.repeat(20)}The answer is ${group * 8 + (i % 3 === 0 ? 1 : 0)}`,
      gts: String(group * 8),
      score: i % 3 === 0 ? 0 : 1,
      step: Math.floor(i / 1024) + 1,
      acc: i % 3 !== 0,
    }
    yield `${JSON.stringify(row)}\n`
  }
}

/**
 * `import/sqlite`: rows a second; the peer stores texts and scores, has no groups and checks nothing. `heap/…` and `rss/…`: the most
 * that an import of all rows holds in a heap of 96 MiB (peer) against one of a tenth of them (ours): 1 is flat. RSS counts pages of the log's file too.
 */
export async function* run(count = 100_000): AsyncGenerator<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-'))
  const began = performance.now()
  const ours = async (n: number, ...limits: string[]) => {
    const file = join(folder, `${n}.jsonl`)
    await pipeline(Readable.from(rows(n)), createWriteStream(file))
    const dir = await mkdtemp(join(folder, 'run-'))
    const { stdout } = await promisify(execFile)(process.execPath, [...limits, workload, file, dir])
    return { file, ...report.parse(JSON.parse(stdout)) }
  }
  const common = () => ({ bench: 'exchange', seconds: (performance.now() - began) / 1000 })
  try {
    const all = await ours(count)
    // What grew with the rows would not fit.
    const tight = '--max-old-space-size=96'
    const memory = [await ours(count / 10, tight), await ours(count, tight)] as const
    const stored = await runPeer('store_rows.py', [all.file, join(folder, 'rows.db')], [])
    const { seconds } = z.object({ seconds: z.number() }).parse(JSON.parse(stored))
    const [mine, theirs] = [Math.round(all.rows / all.seconds), Math.round(count / seconds)]
    yield {
      ...common(),
      figure: 'import/sqlite',
      ours: mine,
      peer: theirs,
      ratio: round2(mine / theirs),
      unit: 'rows/s',
    }
    for (const kind of ['heap', 'rss'] as const) {
      const [small, large] = memory.map((m) => Math.round(m[kind] / megabyte)) as [number, number]
      const figure = `${kind}/ten times the rows`
      yield { ...common(), figure, ours: small, peer: large, ratio: round2(small / large), unit: 'MiB' }
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const round2 = (x: number): number => Number(x.toFixed(2))
