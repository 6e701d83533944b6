import { main } from '../../src/cli/main.ts'
import { MemoryOutput } from './memory-output.ts'

export interface Invocation {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command in this process, as a person at `cwd` would call it; the output is no terminal unless `tty`. */
export async function invoke(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; signal?: AbortSignal; tty?: boolean } = {},
): Promise<Invocation> {
  const stdout = new MemoryOutput({ isTTY: options.tty ?? false })
  const stderr = new MemoryOutput()
  const code = await main(args, {
    stdout,
    stderr,
    env: options.env ?? {},
    signal: options.signal ?? new AbortController().signal,
    cwd: options.cwd ?? process.cwd(),
  })
  return { code, out: stdout.text, err: stderr.text }
}

export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
