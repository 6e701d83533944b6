import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, extname, join, resolve } from 'node:path'
import type { Verifier } from '../../../streams/ports.ts'
import type { Verifiers } from '../../../streams/verify.ts'
import { CascadeError } from '../../../topics/index.ts'
import { knownNames, meaningOf } from '../../verifiers/configured/names.ts'
import type { OpenOptions } from '../../verifiers/configured/open.ts'
import {
  entryKinds,
  type VerifierEntries,
  type VerifierEntry,
  verifierEntrySchema,
} from '../../verifiers/configured/schema.ts'
import { ConfiguredVerifiers } from '../../verifiers/configured/verifiers.ts'
import { bundleVerifier } from '../../verifiers/swap/bundle.ts'
import { VerifierStore } from '../../verifiers/swap/store.ts'
import { tryBundle } from '../../verifiers/swap/try-bundle.ts'
import type { Context } from '../command.ts'
import { loadConfig } from '../config.ts'
import type { OpenRun } from '../open-run.ts'
import { openOptions } from '../run/open-verifiers.ts'

export interface Opened extends AsyncDisposable {
  readonly verifier: Verifier
}

export interface VerifierFlags {
  /** A name of the config's section `verifiers`, of a built-in one or of a kind; or a file. */
  readonly verifier: string
  /** Of a kind or a file. */
  readonly options?: unknown
  /** Whose section `verifiers` is meant, instead of the run's. */
  readonly config?: string
}

/**
 * The verifier that a person names, tried on its samples: one of a config's section `verifiers`, a built-in one, a kind (with options
 * where it needs any), or the file of a module as `cascade verifiers stage` takes it, which is called by the file's name.
 *
 * @throws `USAGE` where it is none of them; `CONFIG_INVALID` for a config; `VERIFIER_FAILED` where a module is refused
 */
export async function verifierOf(flags: VerifierFlags, run: OpenRun, context: Context): Promise<Opened> {
  const { signal, cwd, env } = context
  const own = flags.config === undefined
  const entries = own
    ? (run.manifest.config.verifiers ?? {})
    : ((await loadConfig(resolve(cwd, flags.config!))).verifiers ?? {})
  const [name, meant] = entryOf(flags, entries, cwd)
  const base = openOptions(run.dir, run.manifest, env)
  const dir = await mkdtemp(join(tmpdir(), 'cascade-verifier-'))
  const remove = () => rm(dir, { recursive: true, force: true })
  const stored: OpenOptions['stored'] = async (each, entry) => {
    const isRuns = own && run.manifest.verifiers?.[each] !== undefined && meant?.[each] === undefined
    if (isRuns) return base.stored(each, entry)
    const { file, options, wallMs } = entry
    const shown = each === name && !(each in entries) ? flags.verifier : file
    const bundle = await bundleVerifier(file, cwd, options)
    const limits = { ...base.limits, ...(wallMs === undefined ? {} : { wallMs }) }
    const version = await tryBundle(bundle, { entry: shown, limits, signal })
    const kept = await new VerifierStore(dir).put(bundle, { name: each, version })
    return { codeHash: bundle.codeHash, stored: kept }
  }
  try {
    const options = { ...base, entries: { ...entries, ...meant }, stored }
    const verifiers = await ConfiguredVerifiers.open([name], options)
    const close = async () => {
      await verifiers[Symbol.asyncDispose]()
      await remove()
    }
    await verifiers.preflight(signal).catch(async (error: unknown) => {
      await verifiers[Symbol.asyncDispose]()
      throw error
    })
    return { verifier: verifiers.current(name), [Symbol.asyncDispose]: close }
  } catch (error) {
    await remove()
    throw error
  }
}

/** What a word means: a name, and the entry that it needs beside those of the config. */
function entryOf(
  { verifier: word, options }: VerifierFlags,
  entries: VerifierEntries,
  cwd: string,
): [name: string, entry?: VerifierEntries] {
  const file = resolve(cwd, word)
  if (options === undefined) {
    if (meaningOf(word, entries)) return [word]
  } else if (Object.hasOwn(entries, word)) {
    throw new CascadeError('USAGE', `--options: expected none with ${word}, whose options the config has`)
  } else if (entryKinds.includes(word)) return [word, { [word]: parsed(word, options, cwd) }]
  if (existsSync(file)) {
    const name = basename(word, extname(word))
    const entry = { kind: 'file', file, ...(options === undefined ? {} : { options }) } as VerifierEntry
    return [name, { [name]: entry }]
  }
  const withOptions = entryKinds.filter((kind) => !knownNames(entries).includes(kind)).join(', ')
  throw new CascadeError(
    'USAGE',
    `--verifier: expected one of ${knownNames(entries).join(', ')}, one of ${withOptions} with --options, or the file of a module, got ${word}`,
  )
}

function parsed(kind: string, options: unknown, cwd: string): VerifierEntry {
  const given = typeof options === 'object' && options !== null ? { ...options, kind } : options
  const entry = verifierEntrySchema.safeParse(given)
  if (!entry.success) {
    const { path, message } = entry.error.issues[0]!
    throw new CascadeError('USAGE', `--options: ${kind}: ${path.join('.') || '(value)'}: ${message}`)
  }
  const { data } = entry
  if ('model' in data && data.kind === 'preference') return { ...data, model: resolve(cwd, data.model) }
  return data.kind === 'file' ? { ...data, file: resolve(cwd, data.file) } : data
}

/** One verifier for every rollout, whichever its prompt names. */
export function always(verifier: Verifier): Verifiers {
  return {
    current: () => verifier,
    pinned: (_, version, codeHash) =>
      verifier.version === version && verifier.codeHash === codeHash ? verifier : undefined,
  }
}
