import { z } from 'zod'
import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import type { CaseKind } from '../case-kind.ts'
import { badTruth, type RuleVerifier, ruleVerifier } from '../judge.ts'
import { judgeMath, type MathOptions } from './judge.ts'
import { Unreadable } from './limits.ts'

const name = 'math'
const version = '1'
/** The files that decide, in a fixed order: they make up the code hash. */
const files = [
  'index',
  'judge',
  'extract',
  'clean',
  'lexer',
  'parser',
  'build',
  'ast',
  'compare',
  'relations',
  'normal',
  'polynomial',
  'numeric',
  'rational',
  'limits',
]

const schema = z.strictObject({
  id: z.string(),
  /** A whole response; with the flag `bare`, the answer's expression alone. */
  response: z.string(),
  /** The gold answer, or a worked solution that ends in it. */
  answer: z.string(),
})
export type MathCase = z.infer<typeof schema>

function judge(response: string, truth: unknown, options: MathOptions): Verdict {
  if (typeof truth !== 'string')
    return badTruth(name, `expected a text, got ${truth === null ? 'null' : typeof truth}`)
  try {
    const { gold, ...rest } = judgeMath(response, truth, options)
    if (rest.answer === undefined) return { outcome: 'unparsable', score: 0 }
    const { answer, place, comparison } = rest
    return {
      outcome: 'score',
      score: comparison.equal ? 1 : 0,
      detail: { answer: answer.slice(0, 200), place, gold: gold.slice(0, 200), compared: comparison.how },
    }
  } catch (error) {
    if (error instanceof Unreadable) return badTruth(name, error.message)
    throw error
  }
}

const samples = {
  good: [
    { response: 'So it is $\\boxed{\\frac34}$.', truth: '0.75' },
    { response: '#### 1,000', truth: '1000' },
  ],
  bad: [
    { response: 'So it is $\\boxed{\\frac35}$.', truth: '0.75' },
    { response: 'I do not know.', truth: '0.75' },
  ],
}

/** Scores 1 where the response's final answer has the value of the ground truth, however either is written, else 0. */
export function math(options: MathOptions = {}): RuleVerifier {
  return ruleVerifier({
    name,
    version,
    sources: files.map((file) => new URL(`./${file}${import.meta.url.slice(-3)}`, import.meta.url).href),
    options: { ...options },
    samples,
    judge: (text, truth) => judge(text, truth, options),
  })
}

/** Final answers of worked mathematics against gold answers. */
export const mathKind: CaseKind<MathCase> = {
  name,
  version,
  schema,
  work: 'pure',
  async open({ flags }) {
    const bare = flags.bare ?? false
    if (typeof bare !== 'boolean')
      throw new CascadeError('USAGE', `bare: expected true or false, got ${JSON.stringify(bare)}`)
    const verifier = math({ bare })
    return {
      judge: ({ response, answer }) => verifier.judge(response, answer),
      async [Symbol.asyncDispose]() {},
    }
  },
}
