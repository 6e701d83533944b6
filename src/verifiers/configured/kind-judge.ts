import type { Verdict } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import type { CaseKind } from '../case-kind.ts'
import { badTruth } from '../judge.ts'
import { kindNamed } from '../kinds.ts'
import type { Judge, Target } from '../pool/index.ts'
import { codeOf } from './code-of.ts'

/** What a judge of a kind is told of a rollout. */
export interface Asked {
  readonly id: string
  readonly prompt: string
  readonly response: string
  readonly truth: unknown
}

export const askedOf = ({ id, promptText, responseText, groundTruth }: Rollout): Asked => ({
  id,
  prompt: promptText,
  response: responseText,
  truth: groundTruth,
})

export interface KindJudgeOptions {
  readonly kind: string
  /** Of the verifier, for messages. */
  readonly name: string
  readonly flags: Readonly<Record<string, unknown>>
  readonly defaults: Readonly<Record<string, unknown>>
  readonly label?: string
  /** Field of the case that the response is; `code`: what the response holds of it. */
  readonly response: 'response' | 'code'
  readonly usesTruth: boolean
  readonly jobs: number
}

/** Where a pool finds the judge. */
export function targetOf(options: KindJudgeOptions): Target {
  return { module: import.meta.url, name: openKindJudge.name, options }
}

/** Judges responses of a run as cases of a kind. A ground truth that makes no case of it is an error, whatever the response. */
export async function openKindJudge(options: KindJudgeOptions): Promise<Judge> {
  const { flags, jobs } = options
  const kind = await kindNamed(options.kind).load()
  const judge = await kind.open({ jobs, flags })
  const caseOf = caseMaker(kind, options)
  return {
    judge(request, signal) {
      const given = caseOf(request as Asked)
      return 'failed' in given ? given.failed : judge.judge(given.made, signal)
    },
    [Symbol.asyncDispose]: () => judge[Symbol.asyncDispose](),
  }
}

type Made<C> = { readonly made: C } | { readonly failed: Verdict }

/** Makes cases of what is asked, or says why a ground truth makes none. */
export function caseMaker<C extends { id: string }>(
  { schema }: Pick<CaseKind<C>, 'schema'>,
  { name, defaults, label, response: field, usesTruth }: Omit<KindJudgeOptions, 'kind' | 'flags' | 'jobs'>,
): (asked: Asked) => Made<C> {
  // Some kinds judge by the prompt as well, and the others refuse it.
  let withPrompt = true
  return ({ id, prompt, response, truth }) => {
    const fields = usesTruth ? fieldsOf(truth, label) : {}
    if (typeof fields === 'string') return { failed: badTruth(name, fields) }
    const taken = ['id', field].find((key) => Object.hasOwn(fields, key))
    if (taken !== undefined)
      return { failed: badTruth(name, `${taken}: expected none, it is the rollout's own`) }
    const own = { ...defaults, ...fields, id }
    const given = { ...own, [field]: field === 'code' ? codeOf(response, own.language) : response }
    let parsed = withPrompt ? schema.safeParse({ prompt, ...given }) : schema.safeParse(given)
    if (!parsed.success && withPrompt && !Object.hasOwn(fields, 'prompt')) {
      const unknown = parsed.error.issues.some(
        (issue) => issue.code === 'unrecognized_keys' && issue.keys.includes('prompt'),
      )
      withPrompt = !unknown
      if (unknown) parsed = schema.safeParse(given)
    }
    if (parsed.success) return { made: parsed.data }
    const { path, message } = parsed.error.issues[0]!
    return { failed: badTruth(name, `${path.join('.') || '(value)'}: ${message}`) }
  }
}

function fieldsOf(
  truth: unknown,
  label: string | undefined,
): (Record<string, unknown> & { language?: unknown }) | string {
  if (typeof truth === 'object' && truth !== null && !Array.isArray(truth)) return { ...truth }
  if (label !== undefined) {
    if (typeof truth === 'string') return { [label]: truth }
    if (typeof truth === 'number' && Number.isFinite(truth)) return { [label]: String(truth) }
  }
  const expected = label === undefined ? 'the fields of a case' : `a text, a number or {${label}}`
  return `expected ${expected}, got ${truth === null ? 'null' : Array.isArray(truth) ? 'a list' : typeof truth}`
}
