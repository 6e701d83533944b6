export type Language = 'python' | 'javascript' | 'typescript'

/** What is done after the source has run, in the same namespace, one after the other. */
export type Step =
  /** Statements. They pass where nothing is raised (JavaScript: and the last value is not `false`). */
  | { readonly kind: 'exec'; readonly source: string }
  /** A call by a dotted name; its result comes back as data and is compared outside the sandbox. */
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly unknown[] }

/**
 * What is made of TypeScript that is none. `strict`: a syntax error fails the program. `recover`: it runs as TypeScript's compiler
 * writes it out, which guesses what was meant, as `transpileModule` and ts-node do.
 */
export type Syntax = 'strict' | 'recover'

/** One run of an interpreter in a clean state. */
export interface Program {
  readonly language: Language
  /** Of TypeScript alone. @default strict */
  readonly syntax?: Syntax
  readonly source: string
  /**
   * Appended to {@link source} on a new line. Kept apart so that a clean exit from the tests (as `unittest.main` makes one) and an exit
   * from the source under test, which would skip them, can be told apart.
   */
  readonly tests?: string
  readonly steps: readonly Step[]
  /** Text that the program reads as its standard input. */
  readonly stdin: string
  /** JavaScript modules that `require` may give. */
  readonly modules: readonly string[]
  /** Wall time for the source and all steps. */
  readonly timeoutMs: number
  /** Steps after a failed one are not run. */
  readonly stopAtFailure: boolean
}

export interface ProgramError {
  readonly name: string
  readonly message: string
}

/** A result as data: what is no data carries only its text. */
export type Value =
  | { readonly data: true; readonly value: unknown }
  | { readonly data: false; readonly text: string }

export type StepResult =
  | { readonly ok: true; readonly value?: Value }
  | { readonly ok: false; readonly error: ProgramError }

/**
 * How a program ended, all of it the program's own doing: `exit` left before everything had run, `crash` took its interpreter down
 * every time that it was tried.
 */
export type End = 'completed' | 'compile' | 'error' | 'exit' | 'timeout' | 'memory' | 'output' | 'crash'

export interface Execution {
  readonly end: End
  /** Why the source did not run to its end. */
  readonly error?: ProgramError
  /** One for each step that ended. Where `end` is not `completed`, the step after the last of these is the one that did not. */
  readonly steps: readonly StepResult[]
  readonly stdout: string
}

/**
 * Runs programs nobody trusts. A faulty program is an {@link Execution}; `run` rejects only where the sandbox itself failed
 * (`VERIFIER_FAILED`, retryable) or the signal aborted. Any number of calls may wait.
 */
export interface Sandbox extends AsyncDisposable {
  /** @param began called when the program is handed to an interpreter that has started */
  run(program: Program, signal: AbortSignal, began?: () => void): Promise<Execution>
}

export interface SandboxLimits {
  /** Memory that a program may use on top of its interpreter. */
  readonly memoryMb: number
  /** Characters that a program may write. */
  readonly outputChars: number
}

export const defaultLimits: SandboxLimits = { memoryMb: 256, outputChars: 1_000_000 }

/** Modules of JavaScript that the sandboxes bring along. */
export const javascriptModules = ['assert', 'lodash', 'util'] as const
