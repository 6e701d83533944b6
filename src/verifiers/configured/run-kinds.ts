import type { Samples } from '../judge.ts'
import type { EntryOf, VerifierEntry } from './schema.ts'

/** An entry whose kind judges whole cases. */
export type KindEntryOf = Exclude<
  VerifierEntry,
  EntryOf<'remote'> | EntryOf<'judge'> | EntryOf<'file'> | EntryOf<'composite'>
>

/** How a kind of case serves a run: what the command `cascade verify` reads from a file comes from a rollout here. */
export interface RunKind {
  /** The case's field that the response is. @default response */
  readonly response?: 'code'
  /** False: it judges by prompt and response alone, whatever the ground truth is for others. @default true */
  readonly usesTruth?: boolean
  /** Options of the kind itself. */
  flags(entry: VerifierEntry): Record<string, unknown>
  /** Options with the values of environment variables: they decide no score, and stand in no hash. */
  secrets?(entry: VerifierEntry, env: Readonly<Record<string, string | undefined>>): Record<string, unknown>
  /** Fields of the case where the ground truth has none. */
  defaults?(entry: VerifierEntry): Record<string, unknown>
  /** Tried before it may judge. */
  samples?(entry: VerifierEntry): Promise<Samples>
  /** Hash of the sources that decide, where they are read. Else version and package stand for them. */
  codeHash?(entry: VerifierEntry): Promise<string>
}

function flagsOf(entry: VerifierEntry, names: readonly string[]): Record<string, unknown> {
  const all = Object.entries(entry)
  return Object.fromEntries(all.filter(([name, value]) => names.includes(name) && value !== undefined))
}

const math: RunKind = {
  flags: (entry) => flagsOf(entry, ['bare']),
  async samples(entry) {
    if ((entry as EntryOf<'math'>).bare) {
      return {
        good: [{ response: '\\frac34', truth: '0.75' }],
        bad: [{ response: '\\frac35', truth: '0.75' }],
      }
    }
    return (await import('../math/index.ts')).math().samples
  },
  codeHash: async (entry) => (await import('../math/index.ts')).math(flagsOf(entry, ['bare'])).codeHash,
}

const instruction: RunKind = {
  flags: (entry) => flagsOf(entry, ['share']),
  defaults: (entry) => ({ mode: (entry as EntryOf<'instruction'>).mode ?? 'strict' }),
  samples: async () => (await import('../instruction/index.ts')).instruction().samples,
  codeHash: async () => (await import('../instruction/index.ts')).instruction().codeHash,
}

const patchFlags = ['formatPenalty', 'fuzz', 'unit', 'autojunk', 'maxEdits', 'maxResponse']
const meaningFlags = ['embedding', 'pooling', 'semanticWeight']
const patch: RunKind = {
  flags(entry) {
    const { judge } = entry as EntryOf<'patch'>
    const asked = judge ? { judgeUrl: judge.url, judgeModel: judge.model } : {}
    return { ...flagsOf(entry, [...patchFlags, ...meaningFlags]), ...asked }
  },
  secrets(entry, env) {
    const variable = (entry as EntryOf<'patch'>).judge?.apiKeyEnv
    return variable === undefined ? {} : { judgeKey: env[variable] }
  },
  samples: async (entry) => (await import('../patch/index.ts')).patch(flagsOf(entry, patchFlags)).samples,
  codeHash: async (entry) => (await import('../patch/index.ts')).patch(flagsOf(entry, patchFlags)).codeHash,
}

const tests = [{ call: 'twice', args: [4], expected: 8 }]
const program = (language: string) =>
  language === 'python'
    ? ['def twice(x):\n    return 2 * x', 'def twice(x):\n    return x']
    : ['function twice(x) { return 2 * x }', 'function twice(x) { return x }']

const code: RunKind = {
  response: 'code',
  flags: (entry) => flagsOf(entry, ['partial', 'sandbox', 'sandboxUrl']),
  defaults(entry) {
    const { timeoutMs = 5_000, language } = entry as EntryOf<'code'>
    return { timeoutMs, ...(language === undefined ? {} : { language }) }
  },
  async samples(entry) {
    const { language = 'python' } = entry as EntryOf<'code'>
    const truth = { language, tests, timeoutMs: 10_000 }
    const [good, bad] = program(language)
    return {
      good: [{ response: `Here:\n\`\`\`${language}\n${good}\n\`\`\`\n`, truth }],
      bad: [{ response: bad!, truth }],
    }
  },
}

const preference: RunKind = { usesTruth: false, flags: (entry) => flagsOf(entry, ['model']) }

const all: Readonly<Record<KindEntryOf['kind'], RunKind>> = { code, instruction, math, patch, preference }

export function runKindOf(entry: KindEntryOf): RunKind {
  return all[entry.kind]
}
