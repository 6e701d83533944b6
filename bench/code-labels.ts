import { readFileSync } from 'node:fs'
import { codeKind } from '../src/verifiers/code/index.ts'
import { sharedData } from '../test/shared-data.ts'
import {
  knownDifferences,
  type LabelledCase,
  labelledCases,
  pythonReferences,
} from '../test/verifiers/code/labelled.ts'
import type { Figure } from './figure.ts'

export const summary =
  'every labelled program of HumanEval, MBXP and MBPP that is at hand, in a sandbox: verdicts against labels'

/**
 * Programs of the data beside the repository (or in `CASCADE_SHARED`) whose outcome is known: how many verdicts equal their label. `CODE_SANDBOX` is
 * wasm or bubblewrap. The labels read TypeScript as a compiler that recovers does; the strict reading stands beside it. What differs goes to standard error; `test/verifiers/code/label-differences.jsonl` explains it.
 *
 * @throws where the data is absent, or a program differs that is not explained
 */
export async function* run(sandbox = process.env.CODE_SANDBOX ?? 'wasm', jobs = 2): AsyncGenerator<Figure> {
  const references = pythonReferences(read).map((given) => ({ given, passed: true }))
  const known = (syntax: 'strict' | 'recover') => knownDifferences(sandbox, syntax)
  yield await measure('labels', sandbox, jobs, labelledCases(read, 'recover'), known('recover'))
  yield await measure(
    'labels, strict TypeScript',
    sandbox,
    jobs,
    labelledCases(read, 'strict'),
    known('strict'),
  )
  yield await measure('Python references', sandbox, jobs, references, new Set())
}

function read(path: string): string {
  const file = sharedData(path)
  if (!file) throw new Error(`expected the data file ${path} beside the repository or in CASCADE_SHARED`)
  return readFileSync(file, 'utf8')
}

async function measure(
  name: string,
  sandbox: string,
  jobs: number,
  cases: readonly LabelledCase[],
  explained: ReadonlySet<string>,
): Promise<Figure> {
  await using judge = await codeKind.open({ jobs, flags: { sandbox } })
  const begun = performance.now()
  const unexplained: string[] = []
  let same = 0
  await Promise.all(
    cases.map(async ({ given, passed }) => {
      const verdict = await judge.judge(given, new AbortController().signal)
      if (verdict.outcome !== 'failed' && (verdict.score === 1) === passed) {
        same += 1
        return
      }
      if (!explained.has(given.id)) unexplained.push(given.id)
      process.stderr.write(`${JSON.stringify({ id: given.id, passed, verdict })}\n`)
    }),
  )
  if (unexplained.length > 0)
    throw new Error(`${name}: expected explained differences, got ${unexplained.join()}`)
  return {
    bench: 'code-labels',
    figure: `${name}, ${sandbox}: verdicts as labelled/programs`,
    ours: same,
    peer: cases.length,
    ratio: Number((same / cases.length).toFixed(4)),
    unit: 'programs',
    seconds: (performance.now() - begun) / 1000,
  }
}
