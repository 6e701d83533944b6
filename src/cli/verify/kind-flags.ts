import { resolve } from 'node:path'
import type { Command } from 'commander'
import { CascadeError } from '../../../topics/index.ts'
import type { KindEntry } from '../../verifiers/kinds.ts'

/** Flags that only some kinds understand. */
const kindFlags = ['bare', 'share', 'partial', 'sandbox', 'model'] as const

/** Adds them to a command. */
export function addKindFlags(command: Command): Command {
  return command
    .option('--bare', "math: a response is the answer's expression alone")
    .option('--share', 'instruction: the share of instructions that are followed is the score')
    .option('--partial', 'code: the share of tests that pass is the score')
    .option('--sandbox <layer>', 'code: wasm or bubblewrap')
    .option('--model <path>', 'preference: the folder of the reward model')
}

/** What was given of them, paths from `cwd`. @throws CascadeError USAGE for a flag that this kind has no use for */
export function kindFlagsOf(
  entry: KindEntry,
  flags: Readonly<Record<string, unknown>>,
  cwd: string,
): Record<string, unknown> {
  const given = kindFlags.filter((name) => flags[name] !== undefined)
  for (const name of given) {
    if (entry.flags.includes(name)) continue
    const own = entry.flags.map((flag) => `--${flag}`).join(', ') || 'no flag of its own'
    throw new CascadeError('USAGE', `--${name}: ${entry.name}: expected ${own}`)
  }
  return Object.fromEntries(
    given.map((name) => [name, name === 'model' ? resolve(cwd, String(flags.model)) : flags[name]]),
  )
}
