import { z } from 'zod'
import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import type { Case, CaseKind, KindOptions } from '../case-kind.ts'
import type { RuleVerifier } from '../judge.ts'

/** A request of a trainer: slime's fields, and whatever else a kind of cases needs. */
export const rewardRequest = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  prompt: z.unknown().optional(),
  response: z.string(),
  label: z.unknown().optional(),
})
export type RewardRequest = z.infer<typeof rewardRequest>

/** What `serveVerifier` serves. */
export interface Served extends AsyncDisposable {
  readonly name: string
  readonly version: string
  /** @throws CascadeError `RECORD_INVALID` for a request that this verifier cannot judge: the client's fault */
  judge(request: RewardRequest, signal: AbortSignal): Promise<Verdict>
}

/** Serves a rule: `label` is the ground truth. */
export function servedRule(verifier: RuleVerifier): Served {
  return {
    name: verifier.name,
    version: verifier.version,
    judge: async ({ response, label }) => verifier.judge(response, label),
    async [Symbol.asyncDispose]() {},
  }
}

/**
 * Serves a kind of cases. A case is made of the response, the request's other fields, and its label: an object's fields (also as JSON
 * text, which is how data sets carry them) or one value under `labelField`; the response is the case's `responseField`. The prompt goes along where the kind has use for one.
 */
export async function servedKind<C extends Case>(
  kind: CaseKind<C>,
  options: KindOptions & { readonly labelField?: string; readonly responseField?: string },
): Promise<Served> {
  const judge = await kind.open(options)
  return {
    name: kind.name,
    version: kind.version,
    judge: async (request, signal) => judge.judge(caseOf(kind, request, options), signal),
    [Symbol.asyncDispose]: () => judge[Symbol.asyncDispose](),
  }
}

function caseOf<C extends Case>(
  kind: CaseKind<C>,
  request: RewardRequest,
  { labelField, responseField = 'response' }: { labelField?: string; responseField?: string },
): C {
  const { prompt, label, id, response, ...rest } = request
  const fields = labelField === undefined ? objectOf(label) : labelOf(label, labelField)
  const given = { id: String(id ?? '0'), ...fields, ...rest, [responseField]: response }
  let parsed = kind.schema.safeParse(prompt === undefined ? given : { prompt, ...given })
  if (!parsed.success && prompt !== undefined && refusesPrompt(parsed.error)) {
    parsed = kind.schema.safeParse(given)
  }
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw new CascadeError('RECORD_INVALID', `${kind.name} case: ${path.join('.') || '(value)'}: ${message}`)
}

/** A label that stands for one field, as a run's ground truth may: the value, a number for its text, or an object that has the field. */
function labelOf(label: unknown, field: string): object {
  if (typeof label === 'object' && label !== null && !Array.isArray(label)) return label
  return { [field]: typeof label === 'number' ? String(label) : label }
}

function refusesPrompt({ issues }: z.ZodError): boolean {
  return issues.some(
    (i) => i.code === 'unrecognized_keys' && i.path.length === 0 && i.keys.includes('prompt'),
  )
}

function objectOf(label: unknown): object {
  if (typeof label === 'string' && /^\s*\{/.test(label)) {
    try {
      return objectOf(JSON.parse(label))
    } catch {
      return {}
    }
  }
  return typeof label === 'object' && label !== null && !Array.isArray(label) ? label : {}
}
