import { verifiers as rules } from '../index.ts'
import { kinds } from '../kinds.ts'
import { type VerifierEntries, type VerifierEntry, verifierEntrySchema } from './schema.ts'

/** A name that a prompt, a stage or a composite may carry: what it means. */
export type Meaning = { readonly rule: string } | { readonly entry: VerifierEntry }

/** Kinds that can be named without an entry: those that need no options. */
const bare = kinds.flatMap(({ name }): [string, VerifierEntry][] => {
  const entry = verifierEntrySchema.safeParse({ kind: name })
  return entry.success ? [[name, entry.data]] : []
})
const plain: ReadonlyMap<string, VerifierEntry> = new Map(bare)

/** Names that no entry may take: tasks are evaluated by them. */
export const reserved: readonly string[] = Object.keys(rules).filter((name) => !plain.has(name))

export function meaningOf(name: string, entries: VerifierEntries): Meaning | undefined {
  const own = Object.hasOwn(entries, name) ? entries[name] : undefined
  const entry = own ?? plain.get(name)
  if (entry) return { entry }
  return Object.hasOwn(rules, name) ? { rule: name } : undefined
}

/** Every name with a meaning. */
export function knownNames(entries: VerifierEntries): string[] {
  return [...new Set([...Object.keys(entries), ...Object.keys(rules), ...plain.keys()])].sort()
}

/** A name and all that a composite of this name is made of, each once, parts before what they are parts of. */
export function withParts(name: string, entries: VerifierEntries): string[] {
  const found = new Set<string>()
  const seen = new Set<string>()
  const visit = (at: string) => {
    if (seen.has(at)) return
    seen.add(at)
    const meaning = meaningOf(at, entries)
    if (meaning && 'entry' in meaning && meaning.entry.kind === 'composite') {
      for (const part of meaning.entry.parts) visit(part.verifier)
    }
    found.add(at)
  }
  visit(name)
  return [...found]
}

/** What is wrong with the entries themselves, each with its path. */
export function faultsOf(entries: VerifierEntries): { path: readonly PropertyKey[]; message: string }[] {
  const faults: { path: readonly PropertyKey[]; message: string }[] = []
  for (const [name, entry] of Object.entries(entries)) {
    if (reserved.includes(name)) {
      faults.push({ path: [name], message: `expected another name: ${name} is that of a built-in verifier` })
    }
    if ('url' in entry && hasCredentials(entry.url)) {
      const message = 'expected a URL without user name and password: environment variables hold secrets'
      faults.push({ path: [name, 'url'], message })
    }
    if (isMissingKind(entry)) {
      faults.push({ path: [name, 'kind'], message: `expected a kind of this build, got ${entry.kind}` })
    }
    if (entry.kind !== 'composite') continue
    for (const [i, { verifier }] of entry.parts.entries()) {
      if (meaningOf(verifier, entries)) continue
      const message = `expected one of ${knownNames(entries).join(', ')}, got ${verifier}`
      faults.push({ path: [name, 'parts', i, 'verifier'], message })
    }
    const cycle = cycleFrom(name, entries)
    if (cycle) {
      const message = `expected parts that come to an end, got ${cycle.join(' -> ')}`
      faults.push({ path: [name, 'parts'], message })
    }
  }
  return faults
}

function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}

const others: ReadonlySet<string> = new Set(['remote', 'judge', 'file', 'composite'])

function isMissingKind({ kind }: VerifierEntry): boolean {
  return !others.has(kind) && !kinds.some(({ name }) => name === kind)
}

/** The way from a composite back to itself, if there is one. */
function cycleFrom(name: string, entries: VerifierEntries): string[] | undefined {
  const done = new Set<string>()
  const search = (at: string, way: readonly string[]): string[] | undefined => {
    const entry = Object.hasOwn(entries, at) ? entries[at] : undefined
    if (entry?.kind !== 'composite' || done.has(at)) return undefined
    done.add(at)
    for (const { verifier } of entry.parts) {
      if (verifier === name) return [...way, name]
      const found = search(verifier, [...way, verifier])
      if (found) return found
    }
    return undefined
  }
  return search(name, [name])
}
