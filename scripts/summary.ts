/** One step of `.ci/run`. */
export interface Step {
  command: string
  seconds: number
  code: number
  /** Counts of the tests that it ran; absent where it ran none. */
  tests?: { passed: number; failed: number }
}

/** Lines of `steps.tsv`: exit code, seconds, command. */
export function parseSteps(text: string): Step[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [code, seconds, command = ''] = line.split('\t')
      return { command, seconds: Number(seconds), code: Number(code) }
    })
}

/** Failures of a step: its failed tests, and at least one where it ended with a code other than 0. */
function failures({ code, tests }: Step): number {
  return Math.max(tests?.failed ?? 0, code === 0 ? 0 : 1)
}

export function summary(steps: readonly Step[]): { lines: string[]; failed: number } {
  const lines = steps.map((step) => {
    const tests = step.tests ? `, ${step.tests.passed} passed, ${step.tests.failed} failed` : ''
    return `${step.code === 0 ? 'ok    ' : 'FAILED'} ${step.command} (${step.seconds} s${tests})`
  })
  const passed = steps.reduce((sum, step) => sum + (step.tests?.passed ?? 0), 0)
  const failed = steps.reduce((sum, step) => sum + failures(step), 0)
  return { lines: [...lines, `${passed} passed, ${failed} failed`], failed }
}
