import { CascadeError } from '../../topics/index.ts'
import type { Case, CaseKind, KindOptions } from './case-kind.ts'
import type { Judge, Target } from './pool/index.ts'

/** A kind of case by name. Its module is loaded only when it is used. */
export interface KindEntry {
  readonly name: string
  readonly summary: string
  /** Flags of `cascade verify` that it understands. */
  readonly flags: readonly string[]
  /** The field that a reward server's `label` is, where it is one value. */
  readonly label?: string
  /** The field that a reward server's `response` is. @default response */
  readonly response?: string
  load(): Promise<CaseKind<Case>>
}

/** To add a kind: copy the folder beside its siblings, add its line here, add its test. */
export const kinds: readonly KindEntry[] = [
  {
    name: 'code',
    summary: 'programs in Python, JavaScript and TypeScript against tests, in a sandbox',
    flags: ['partial', 'sandbox', 'sandboxUrl'],
    response: 'code',
    load: async () => (await import('./code/index.ts')).codeKind,
  },
  {
    name: 'instruction',
    summary: 'the 83 checkable instructions of IFEval and IFBench, strict or loose',
    flags: ['share'],
    load: async () => (await import('./instruction/index.ts')).instructionKind,
  },
  {
    name: 'math',
    summary: 'the final answer of worked mathematics against the right one, by value',
    flags: ['bare'],
    label: 'answer',
    load: async () => (await import('./math/index.ts')).mathKind,
  },
  {
    name: 'patch',
    summary: 'a code change against the reference change, without running it',
    flags: ['embedding', 'pooling', 'semanticWeight', 'judgeUrl', 'judgeModel', 'judgeKeyEnv'],
    load: async () => (await import('./patch/index.ts')).patchKind,
  },
  {
    name: 'preference',
    summary: 'a response to a prompt, with a reward model',
    flags: ['model'],
    load: async () => (await import('./preference/index.ts')).preferenceKind,
  },
]

/** @throws CascadeError USAGE for a name that no kind has */
export function kindNamed(name: string): KindEntry {
  const found = kinds.find((kind) => kind.name === name)
  if (found) return found
  throw new CascadeError('USAGE', `kind: expected one of ${kinds.map((k) => k.name).join(', ')}, got ${name}`)
}

export interface KindTarget {
  readonly kind: string
  readonly flags: Readonly<Record<string, unknown>>
  /** Cases that one judge is given at the same time. */
  readonly jobs: number
  readonly limits?: KindOptions['limits']
}

/** What a {@link Pool} opens to judge cases of a kind, one at a time in each process. */
export function targetOf(kind: string, flags: KindOptions['flags']): Target {
  return { module: import.meta.url, name: openKind.name, options: { kind, flags, jobs: 1 } }
}

/** A judge of whole cases, as {@link Pool} runs it in a process of its own: what is no case of the kind is an error. */
export async function openKind({ kind: name, flags, jobs, limits }: KindTarget): Promise<Judge> {
  const kind = await kindNamed(name).load()
  const judge = await kind.open({ jobs, flags, limits })
  return {
    judge(request, signal, began) {
      const given = kind.schema.safeParse(request)
      if (given.success) return judge.judge(given.data, signal, began)
      const issue = given.error.issues[0]!
      const message = `${name}: case: ${issue.path.join('.') || '(value)'}: ${issue.message}`
      return { outcome: 'failed', code: 'RECORD_INVALID', message, retryable: false }
    },
    [Symbol.asyncDispose]: () => judge[Symbol.asyncDispose](),
  }
}
