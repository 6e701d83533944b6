import { readdirSync } from 'node:fs'
import { z } from 'zod'
import type { CaseKind } from '../case-kind.ts'
import { badTruth, type RuleVerifier, ruleVerifier } from '../judge.ts'
import { evaluate, failed, instructionList, mode, type Scoring } from './evaluate.ts'

export { instructionKinds } from './registry.ts'

const name = 'instruction'
/** Rises with every change of a verdict, also one that a library brings. */
const version = '2'

/** A response to a prompt with instructions that can be checked. */
export const instructionCase = z.strictObject({
  id: z.string(),
  prompt: z.string(),
  response: z.string(),
  instructions: instructionList,
  mode,
})
export type InstructionCase = z.infer<typeof instructionCase>

export const instructionTruth = z.strictObject({
  prompt: z.string(),
  instructions: instructionList,
  /** Where it is absent, the verifier's own. */
  mode: mode.optional(),
})
export type InstructionTruth = z.infer<typeof instructionTruth>

export interface InstructionOptions {
  /** How a ground truth without a mode is read; `strict` by default. */
  readonly mode?: z.infer<typeof mode>
  /** `all` by default. */
  readonly score?: Scoring
}

const truth = { prompt: 'Say it.', instructions: [{ id: 'punctuation:no_comma', kwargs: {} }] }
const samples = {
  good: [{ response: 'Without any.', truth }],
  bad: [
    { response: 'Here, there.', truth },
    { response: '', truth },
  ],
}

/** Scores 1 where a response follows all of its prompt's instructions, else 0, or the share that it follows. */
export function instruction(options: InstructionOptions = {}): RuleVerifier {
  const how = options.mode ?? 'strict'
  const score = options.score ?? 'all'
  return ruleVerifier({
    name,
    version,
    sources: sources(),
    options: { mode: how, score },
    samples,
    judge(text, groundTruth) {
      const truth = instructionTruth.safeParse(groundTruth)
      if (!truth.success) {
        const issue = truth.error.issues[0]!
        return badTruth(name, `${issue.path.join('.') || '(value)'}: ${issue.message}`)
      }
      return evaluate(text, truth.data.instructions, truth.data.mode ?? how, score)
    },
  })
}

/** Cases of `cascade verify instruction`. The flag `share` asks for the share of instructions followed. */
export const instructionKind: CaseKind<InstructionCase> = {
  name,
  version,
  schema: instructionCase,
  work: 'pure',
  async open({ flags }) {
    const scoring = flags.share === true ? 'share' : 'all'
    return {
      judge(given) {
        try {
          return evaluate(given.response, given.instructions, given.mode, scoring)
        } catch (error) {
          return failed(`crashed: ${String(error)}`)
        }
      },
      async [Symbol.asyncDispose]() {},
    }
  },
}

/** Every file of this folder decides. */
function sources(): string[] {
  return readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.[jt]s$/.test(path) && !path.endsWith('.d.ts'))
    .sort()
    .map((path) => new URL(path, import.meta.url).href)
}
