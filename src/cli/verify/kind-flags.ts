import { CascadeError } from '../../../topics/index.ts'
import type { KindEntry } from '../../verifiers/kinds.ts'

/** Flags that only some kinds understand, as the parser names them. */
const kindFlags = ['bare', 'share', 'partial', 'sandbox', 'sandboxUrl', 'model'] as const

/** @throws CascadeError USAGE for a flag that this kind has no use for */
export function flagsOf(entry: KindEntry, flags: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given = kindFlags.filter((name) => flags[name] !== undefined)
  for (const name of given) {
    if (entry.flags.includes(name)) continue
    const own = entry.flags.map(written).join(', ') || 'no flag of its own'
    throw new CascadeError('USAGE', `${written(name)}: ${entry.name}: expected ${own}`)
  }
  return Object.fromEntries(given.map((name) => [name, flags[name]]))
}

function written(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
