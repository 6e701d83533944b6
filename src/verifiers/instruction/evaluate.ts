import { z } from 'zod'
import type { Verdict } from '../../../streams/ports.ts'
import { instructionKinds, instructionOf } from './registry.ts'
import { looseForms } from './text/loose.ts'

export const mode = z.enum(['strict', 'loose'])

export const instructionList = z
  .array(
    z.strictObject({
      id: z.string(),
      /** Null ones, as in the published data, mean absent. */
      kwargs: z.record(z.string(), z.unknown()).nullish(),
    }),
  )
  .min(1)
export type InstructionList = z.infer<typeof instructionList>

/** `all`: 1 where every instruction is followed, else 0. `share`: the share that is. */
export type Scoring = 'all' | 'share'

interface Prepared {
  follows(text: string): boolean
}

/**
 * Whether a response follows each instruction, by its place in the list. An instruction that is not known, or
 * whose arguments do not fit, is the fault of the task: the verdict is `failed`, whatever the response.
 */
export function evaluate(
  response: string,
  list: InstructionList,
  how: z.infer<typeof mode>,
  scoring: Scoring,
): Verdict {
  const prepared: Prepared[] = []
  for (const [i, one] of list.entries()) {
    const check = prepare(one)
    if (typeof check === 'string') return failed(`instructions[${i}].${check}`)
    prepared.push(check)
  }
  const texts = (how === 'loose' ? looseForms(response) : [response]).filter((text) => text.trim() !== '')
  const followed = prepared.map((one) => texts.some((text) => one.follows(text)))
  const share = followed.filter(Boolean).length / followed.length
  return {
    outcome: 'score',
    score: scoring === 'share' ? share : share === 1 ? 1 : 0,
    detail: { followed, instructions: list.map((one) => one.id), mode: how },
  }
}

/** The check with its arguments, or what is wrong with them. */
function prepare(one: InstructionList[number]): Prepared | string {
  const kind = instructionOf(one.id)
  if (!kind) {
    return `id: expected one of the ${Object.keys(instructionKinds).length} known instructions, got ${JSON.stringify(one.id)}`
  }
  const given = Object.fromEntries(Object.entries(one.kwargs ?? {}).filter(([, value]) => value !== null))
  const kwargs = kind.kwargs.safeParse(given)
  if (!kwargs.success) {
    const issue = kwargs.error.issues[0]!
    const got = issue.path.reduce<unknown>((value, key) => Object(value)[key], given)
    return `kwargs${issue.path.map((key) => `.${String(key)}`).join('')}: ${issue.message}, got ${short(got)} (${one.id})`
  }
  return { follows: (text) => kind.follows(text, kwargs.data) }
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 100 ? `${text.slice(0, 100)}...` : text
}

export function failed(why: string): Verdict {
  return {
    outcome: 'failed',
    code: 'VERIFIER_FAILED',
    message: `verifier instruction: ${why}`,
    retryable: false,
  }
}
