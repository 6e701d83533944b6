import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeKind } from '../src/verifiers/code/index.ts'
import { labelledCases } from '../test/verifiers/code/labelled.ts'

/** Judges every labelled program of the shared data and prints what differs from its label, one JSON line each. */
const shared = process.env.CASCADE_SHARED ?? join(import.meta.dirname, '../../shared')
const read = (path: string) => readFileSync(join(shared, 'data', path), 'utf8')
const jobs = Number(process.env.CASCADE_JOBS ?? 2)
const signal = new AbortController().signal
const judge = await codeKind.open({ jobs, flags: {} })
const cases = labelledCases(read)
let judged = 0
let different = 0
let failed = 0
const begun = performance.now()
await Promise.all(
  cases.map(async ({ given, passed }) => {
    const verdict = await judge.judge(given, signal)
    judged++
    if (verdict.outcome === 'failed') failed++
    if (verdict.outcome !== 'failed' && (verdict.score === 1) === passed) return
    different++
    process.stdout.write(`${JSON.stringify({ id: given.id, passed, verdict })}\n`)
  }),
)
const seconds = (performance.now() - begun) / 1000
process.stderr.write(
  `${judged} programs, ${different} differ from their label, ${failed} not judged, ${seconds.toFixed(1)} s\n`,
)
await judge[Symbol.asyncDispose]()
