import { javascriptModules, type Program, type Step } from '../sandbox/index.ts'
import type { CodeCase, CodeTest } from './case.ts'

/** A run of the interpreter and the tests that it decides, by their place in the case. */
export interface PlannedRun {
  readonly program: Program
  readonly tests: readonly number[]
}

/** Tests in one namespace share a run; each with an input or a text of its own gets one. In the order of the first of their tests. */
export function plan(given: CodeCase, partial: boolean): PlannedRun[] {
  const base = {
    language: given.language,
    ...(given.syntax ? { syntax: given.syntax } : {}),
    source: given.code,
    steps: [],
    stdin: '',
    modules: given.modules ?? javascriptModules,
    timeoutMs: given.timeoutMs,
    stopAtFailure: !partial,
  }
  const runs: PlannedRun[] = []
  let shared: { steps: Step[]; tests: number[] } | undefined
  given.tests.forEach((test, index) => {
    const step = stepOf(test)
    if (step) {
      if (!shared) {
        shared = { steps: [], tests: [] }
        runs.push({ program: { ...base, steps: shared.steps }, tests: shared.tests })
      }
      shared.steps.push(step)
      shared.tests.push(index)
    } else if ('stdin' in test) {
      runs.push({ program: { ...base, stdin: test.stdin }, tests: [index] })
    } else if ('program' in test) {
      runs.push({ program: { ...base, tests: test.program }, tests: [index] })
    }
  })
  return runs
}

function stepOf(test: CodeTest): Step | undefined {
  if ('assert' in test) return { kind: 'exec', source: test.assert }
  if ('call' in test) return { kind: 'call', name: test.call, args: test.args }
  return undefined
}
