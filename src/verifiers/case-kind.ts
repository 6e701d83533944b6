import type { z } from 'zod'
import type { Verdict } from '../../streams/ports.ts'

/** One line of `cascade verify KIND --in FILE`. */
export interface Case {
  readonly id: string
}

/** What `cascade verify` was called with, as far as a kind has use for it. */
export interface KindOptions {
  /** Cases that are judged at the same time. */
  readonly jobs: number
  /** Flags that only one kind has, such as `bare` or `model`, by name. */
  readonly flags: KindFlags
  /** Of one judgement, for a kind that brings its own workers. */
  readonly limits?: { readonly wallMs: number; readonly memoryMb: number }
}

export type KindFlags = Readonly<Record<string, unknown>>

/** Judges cases one by one; `jobs` calls may wait at the same time. Never throws for what a case holds. */
export interface CaseJudge<C extends Case> extends AsyncDisposable {
  /** @param began called once no more is waited for, where a judge has calls wait */
  judge(given: C, signal: AbortSignal, began?: () => void): Verdict | Promise<Verdict>
}

export type Work = 'pure' | 'pooled'

/** A verifier of whole cases: what `cascade verify` scores files with and `cascade verify serve` serves. */
export interface CaseKind<C extends Case = Case> {
  readonly name: string
  readonly version: string
  /** A line of a file, unknown fields refused. */
  readonly schema: z.ZodType<C>
  /**
   * `pure`: judges on the calling thread without I/O, so that the caller spreads the cases over processes of its own. `pooled`: brings
   * its own workers. A function where flags decide.
   */
  readonly work: Work | ((flags: KindFlags) => Work)
  /**
   * Looks at the flags before anything is opened, and reads no more than small files.
   *
   * @throws CascadeError naming the flag or file
   */
  check?(flags: KindFlags): Promise<void>
  open(options: KindOptions): Promise<CaseJudge<C>>
}
