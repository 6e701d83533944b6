import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CodeCase, codeKind } from '../src/verifiers/code/index.ts'
import { sharedData } from '../test/shared-data.ts'
import { labelledCases, pythonReferences } from '../test/verifiers/code/labelled.ts'
import { type Figure, median } from './figure.ts'
import { seededPrograms } from './workloads/programs.ts'

export const summary =
  'code verdicts a second in the sandbox as it comes: against an interpreter started for each program'

const signal = new AbortController().signal

/**
 * Programs that pass their tests, judged by `--sandbox wasm` (a clean state after each) and by a python3 or node process for each, without any walls,
 * both two at a time. Interleaved, the median of the rounds. The programs are every so manyth of MBPP and HumanEval (Python) and of MBXP and HumanEvalPack
 * (JavaScript) where the data is beside the repository or in `CASCADE_SHARED`, else a seeded set. The sandbox wins by what starting a process costs and
 * loses where a program computes for long: `long` is the one program of MBPP that takes seconds.
 *
 * @throws where a verdict and an exit code differ
 */
export async function* run(count = 100, rounds = 5, jobs = 2): AsyncGenerator<Figure> {
  for (const language of ['python', 'javascript'] as const) {
    const all = programs(language)
    const cases = spread(
      all.filter(({ id }) => id !== longRunning),
      count,
    )
    yield await compare(language, `${language}/a process each, ${cases.length} programs`, cases, rounds, jobs)
    const long = all.filter(({ id }) => id === longRunning).map((given) => ({ ...given, timeoutMs: 300_000 }))
    if (long.length > 0) yield await compare(language, `${language}, long/a process each`, long, 1, 1)
  }
}

/** Sums amicable numbers below 9,999 by trial division. */
const longRunning = 'mbpp:123'

function spread<T>(all: readonly T[], count: number): T[] {
  const stride = Math.max(1, Math.floor(all.length / count))
  return all.filter((_, i) => i % stride === 0).slice(0, count)
}

async function compare(
  language: 'python' | 'javascript',
  figure: string,
  cases: readonly CodeCase[],
  rounds: number,
  jobs: number,
): Promise<Figure> {
  const began = performance.now()
  await using judge = await codeKind.open({ jobs, flags: {} })
  const ours = async (given: CodeCase) => judge.judge(given, signal)
  const peer = native(language)
  // Both loaded.
  await Promise.all(
    Array.from({ length: jobs }, () => ours({ ...cases[0]!, code: '1', tests: [{ program: '1' }] })),
  )
  await peer(cases[0]!)
  const rates = { ours: [] as number[], peer: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    rates.peer.push(await rate(cases, jobs, async (given) => (await peer(given)) === 0))
    rates.ours.push(
      await rate(cases, jobs, async (given) => {
        const verdict = await ours(given)
        return verdict.outcome === 'score' && verdict.score === 1
      }),
    )
  }
  const [a, b] = [median(rates.ours), median(rates.peer)]
  return {
    bench: 'code-rate',
    figure,
    ours: Number(a.toPrecision(3)),
    peer: Number(b.toPrecision(3)),
    ratio: Number((a / b).toFixed(2)),
    unit: 'verdicts/s',
    seconds: (performance.now() - began) / 1000,
  }
}

function programs(language: 'python' | 'javascript'): CodeCase[] {
  if (!sharedData('mbpp/mbpp.jsonl') || !sharedData('mbxp/mbjsp.jsonl')) return seededPrograms(language)
  const read = (path: string) => readFileSync(sharedData(path)!, 'utf8')
  if (language === 'python') return pythonReferences(read).map(asProgram)
  return labelledCases(read, 'strict').flatMap(({ given, passed }) =>
    passed && given.language === 'javascript' ? [given] : [],
  )
}

/** The tests as one text, so that both sides run the very same. */
function asProgram(given: CodeCase): CodeCase {
  const text = given.tests.map((test) =>
    'assert' in test ? test.assert : 'program' in test ? test.program : '',
  )
  return { ...given, tests: [{ program: text.join('\n') }] }
}

async function rate(
  cases: readonly CodeCase[],
  jobs: number,
  passes: (given: CodeCase) => Promise<boolean>,
): Promise<number> {
  const began = performance.now()
  let next = 0
  const worker = async () => {
    while (next < cases.length) {
      const given = cases[next++]!
      if (!(await passes(given))) throw new Error(`${given.id}: expected a program that passes`)
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return (cases.length / (performance.now() - began)) * 1000
}

/** The exit code of an interpreter that gets code and tests on its standard input. */
function native(language: 'python' | 'javascript'): (given: CodeCase) => Promise<number | null> {
  // Not a shim that looks for the interpreter each time.
  const [file, args] =
    language === 'python'
      ? [
          execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim(),
          ['-I', '-'],
        ]
      : [process.execPath, ['-r', join(import.meta.dirname, 'workloads/strict-assert.cjs'), '-']]
  const env = { PATH: process.env.PATH, NODE_PATH: join(import.meta.dirname, '../node_modules') }
  return (given) =>
    new Promise((resolve, reject) => {
      const child = spawn(file, args, { env, stdio: ['pipe', 'ignore', 'ignore'] })
      child.once('error', reject)
      child.once('close', resolve)
      const [test] = given.tests
      child.stdin.end(`${given.code}\n${'program' in test! ? test.program : ''}\n`)
    })
}
