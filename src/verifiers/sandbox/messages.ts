import type { Execution, Program, SandboxLimits } from './sandbox.ts'

/**
 * What a child holds: an interpreter (TypeScript runs in the JavaScript one), or a compiler of TypeScript that runs nothing, the strict
 * one or the one that recovers from syntax errors.
 */
export type Engine = 'python' | 'javascript' | 'compile-strict' | 'compile-recover'

export type ToChild =
  | { readonly kind: 'open'; readonly engine: Engine; readonly limits: SandboxLimits }
  | { readonly kind: 'run'; readonly program: Program }

export type FromChild =
  | { readonly kind: 'ready' }
  /** `retire`: the child could not be brought back to a clean state and takes no further program. */
  | { readonly kind: 'done'; readonly execution: Execution; readonly retire: boolean }

/** An interpreter inside a child. Both calls are synchronous: the child's loop stands still while a program runs. */
export interface EngineInstance {
  run(program: Program): Execution
  /** Back to the state before any program. False where that cannot be done: the process must go. */
  restore(): boolean
}
