import { readFileSync } from 'node:fs'
import { codeKind } from '../src/verifiers/code/index.ts'
import { sharedData } from '../test/shared-data.ts'
import {
  knownDifferences,
  type LabelledCase,
  labelledCases,
  pythonReferences,
} from '../test/verifiers/code/labelled.ts'

/**
 * Judges every program of the shared data whose outcome is known and prints what differs, one JSON line each; those of
 * `test/verifiers/code/label-differences.jsonl` are explained there. Ends with 1 where another one differs.
 *
 *     node bench/code-labels.ts [wasm|bubblewrap]
 */
function read(path: string): string {
  const file = sharedData(path)
  if (!file)
    throw new Error(`expected the shared data file ${path} beside the repository or in CASCADE_SHARED`)
  return readFileSync(file, 'utf8')
}

const sandbox = process.argv[2] ?? 'wasm'
const explained = knownDifferences(sandbox)

async function measure(name: string, cases: readonly LabelledCase[]): Promise<boolean> {
  const jobs = Number(process.env.CASCADE_JOBS ?? 2)
  await using judge = await codeKind.open({ jobs, flags: { sandbox } })
  const begun = performance.now()
  let different = 0
  let unexplained = 0
  await Promise.all(
    cases.map(async ({ given, passed }) => {
      const verdict = await judge.judge(given, new AbortController().signal)
      if (verdict.outcome !== 'failed' && (verdict.score === 1) === passed) return
      different++
      if (!explained.has(given.id)) unexplained++
      process.stdout.write(`${JSON.stringify({ id: given.id, passed, verdict })}\n`)
    }),
  )
  const seconds = (performance.now() - begun) / 1000
  process.stderr.write(
    `${name}: ${cases.length} programs, ${different} differ, ${unexplained} of them unexplained, ${seconds.toFixed(1)} s\n`,
  )
  return unexplained === 0
}

const labels = await measure('labels', labelledCases(read))
const references = await measure(
  'python references',
  pythonReferences(read).map((given) => ({ given, passed: true })),
)
if (!labels || !references) process.exitCode = 1
