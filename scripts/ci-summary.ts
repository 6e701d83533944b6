import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSteps, type Step, summary } from './summary.ts'

/** Sums the steps of `.ci/run`, whose reports lie in the folder given. */
const folder = process.argv[2]!
const steps = parseSteps(readFileSync(join(folder, 'steps.tsv'), 'utf8')).map((step, i): Step => {
  const report = join(folder, `${i + 1}.json`)
  if (!existsSync(report)) return step
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'))
  return { ...step, tests: { passed: numPassedTests, failed: numFailedTests } }
})
const { lines, failed } = summary(steps)
console.log(`\n${lines.join('\n')}`)
process.exitCode = failed === 0 ? 0 : 1
