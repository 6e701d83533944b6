import type { Verdict } from '../../../streams/ports.ts'

/** Judges requests one after the other, in a process of its own. */
export interface Judge extends Partial<AsyncDisposable> {
  /** May be slow, hang or crash: the pool sees to it. */
  /** @param began called once no more is waited for, where a judge has calls wait */
  judge(request: unknown, signal: AbortSignal, began?: () => void): Verdict | Promise<Verdict>
}

/** Where a judge comes from: what a module exports under a name, called with the options. */
export interface Target {
  /** URL of the module. */
  readonly module: string
  /** A function `(options) => Judge | Promise<Judge>`. */
  readonly name: string
  readonly options?: unknown
}

export type ToChild =
  | { readonly kind: 'open'; readonly target: Target; readonly outputBytes: number }
  | { readonly kind: 'judge'; readonly requests: readonly (readonly [id: number, request: unknown])[] }
  | { readonly kind: 'abort'; readonly id: number }

export type FromChild =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'verdicts'
      readonly verdicts: readonly (readonly [id: number, verdict: Verdict, ms: number])[]
    }

/** File descriptor on which a child says that it begins with the next request: one byte each. */
export const marksFd = 4
