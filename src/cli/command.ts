import type { Writable } from 'node:stream'
import type { Command } from 'commander'
import { type ErrorCode, isCascadeError } from '../../topics/index.ts'

/** Where a command writes; a terminal says how wide it is. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** All that a command knows of the process it runs in, so that tests run it in theirs. */
export interface Context {
  /** Aborts on the first Ctrl-C, with an `INTERRUPTED` error as its reason. */
  readonly signal: AbortSignal
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder that relative paths start from. */
  readonly cwd: string
  /** Ends with this code although nothing was thrown: the command has said why itself. */
  exitWith(code: ExitCode): void
}

/** Adds one command to the program. A module of `commands/` exports it as `register`. */
export type Register = (program: Command, context: Context) => void

/** 0 done, 1 the run failed, 2 wrong usage or config, 130 interrupted and resumable. */
export type ExitCode = 0 | 1 | 2 | 130

const usageCodes: ReadonlySet<ErrorCode> = new Set([
  'USAGE',
  'CONFIG_INVALID',
  'RUN_EXISTS',
  'RUN_NOT_FOUND',
  'TOPIC_UNKNOWN',
] as const)

export function exitCodeOf(error: unknown): ExitCode {
  if (!isCascadeError(error)) return 1
  if (error.code === 'INTERRUPTED') return 130
  return usageCodes.has(error.code) ? 2 : 1
}
