import type { Execution, ProgramError, StepResult } from '../sandbox/index.ts'
import { type CodeTest, kindOf } from './case.ts'
import { clip, sameData, sameOutput } from './compare.ts'

/** Why a test did not pass, for a reader. */
export interface Failure {
  readonly test: number
  readonly kind: ReturnType<typeof kindOf>
  readonly reason: 'wrong' | Exclude<Execution['end'], 'completed'>
  readonly expected?: string
  readonly got?: string
  readonly error?: string
}

/** The failures among the tests that one run decides, first to last. */
export function failuresOf(all: readonly CodeTest[], tests: readonly number[], ran: Execution): Failure[] {
  return tests.flatMap((index, i) => failureOf(index, all[index]!, ran, ran.steps[i]) ?? [])
}

function failureOf(
  index: number,
  test: CodeTest,
  ran: Execution,
  step: StepResult | undefined,
): Failure | undefined {
  const failure = (rest: Omit<Failure, 'test' | 'kind'>): Failure => ({
    test: index,
    kind: kindOf(test),
    ...rest,
  })
  if ('assert' in test || 'call' in test) {
    // Not reached: the run ended before it, for its own reason or at an earlier failure.
    if (!step) return failure({ reason: ran.end === 'completed' ? 'wrong' : ran.end, ...said(ran.error) })
    if (!step.ok) {
      const expected = 'assert' in test ? test.assert : test.expected
      return failure({ reason: 'error', expected: clip(expected), ...said(step.error) })
    }
    if ('assert' in test) return undefined
    const { value } = step
    if (value?.data && sameData(test.expected, value.value)) return undefined
    return failure({
      reason: 'wrong',
      expected: clip(test.expected),
      got: clip(value?.data ? value.value : value?.text),
    })
  }
  if (ran.end !== 'completed') return failure({ reason: ran.end, ...said(ran.error) })
  if ('program' in test || sameOutput(test.stdout, ran.stdout)) return undefined
  return failure({ reason: 'wrong', expected: clip(test.stdout), got: clip(ran.stdout) })
}

function said(error: ProgramError | undefined): { error?: string } {
  return error ? { error: clip(error.message ? `${error.name}: ${error.message}` : error.name) } : {}
}
