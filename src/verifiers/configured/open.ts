import type { Verifier } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import { composite } from '../composite/index.ts'
import { verifiers as rules } from '../index.ts'
import { kindNamed } from '../kinds.ts'
import { type Limits, PooledVerifier } from '../pool/index.ts'
import { llmJudge } from '../preference/index.ts'
import { remote } from '../remote/index.ts'
import type { Stored } from '../swap/store.ts'
import { storedVerifier } from '../swap/stored-verifier.ts'
import { HostedVerifier, withPlaces } from './hosted-verifier.ts'
import { identityOf } from './identity.ts'
import { askedOf, openKindJudge, targetOf } from './kind-judge.ts'
import { meaningOf } from './names.ts'
import { ruleTarget } from './rule-judge.ts'
import { type KindEntryOf, runKindOf } from './run-kinds.ts'
import type { EntryOf, VerifierEntries, VerifierEntry } from './schema.ts'

export interface OpenOptions {
  readonly entries: VerifierEntries
  /** Judgements at the same time over all: no verifier has more. */
  readonly concurrency: number
  /** Processes of a verifier whose entry does not say. */
  readonly size: number
  readonly limits: Partial<Limits>
  /** Where secrets come from; without it only names, versions and hashes may be asked for. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The module of a `file` entry. */
  stored(
    name: string,
    entry: EntryOf<'file'>,
  ): Promise<{ readonly codeHash: string; readonly stored: Stored }>
}

/** Rules take microseconds: more processes would only take memory. */
const ruleProcesses = 2
/** A step of a run may take long: its verifiers' processes stay at hand until the next. */
const idleMs = 60_000
const hostedWallMs = 60_000

/**
 * The verifier that a name stands for. Nothing is started before it is asked.
 *
 * @param part what a composite's parts are
 * @throws CascadeError VERIFIER_FAILED for a name without a meaning; CONFIG_INVALID where the environment lacks a secret
 */
export async function openVerifier(
  name: string,
  options: OpenOptions,
  part: (name: string) => Verifier,
): Promise<Verifier & Partial<AsyncDisposable>> {
  const meaning = meaningOf(name, options.entries)
  if (!meaning) throw new CascadeError('VERIFIER_FAILED', `verifier: expected a known name, got ${name}`)
  if ('rule' in meaning) return rule(meaning.rule, options)
  const { entry } = meaning
  switch (entry.kind) {
    case 'remote':
      return remoteOf(name, entry, options)
    case 'judge':
      return judgeOf(name, entry, options)
    case 'file': {
      const { codeHash, stored } = await options.stored(name, entry)
      return storedVerifier({ ...processes(entry, options), codeHash, stored: { ...stored, name }, idleMs })
    }
    case 'composite': {
      const { version, length, parts } = entry
      const made = parts.map(({ verifier, ...rest }) => ({ ...rest, verifier: part(verifier) }))
      return composite({ name, version, parts: made, ...(length ? { length } : {}) })
    }
    default:
      return kindOf(name, entry, options)
  }
}

function rule(name: string, { size, limits }: OpenOptions): PooledVerifier {
  const { version, codeHash } = rules[name]!()
  return new PooledVerifier({
    name,
    version,
    codeHash,
    target: ruleTarget(name),
    request: askedOf,
    size: Math.min(size, ruleProcesses),
    limits,
    idleMs,
  })
}

async function kindOf(name: string, entry: KindEntryOf, options: OpenOptions): Promise<Verifier> {
  const identity = { name, ...(await identityOf(entry)) }
  const known = kindNamed(entry.kind)
  const kind = runKindOf(entry)
  const about = {
    name,
    kind: entry.kind,
    flags: { ...kind.flags(entry), ...kind.secrets?.(entry, options.env ?? {}) },
    defaults: kind.defaults?.(entry) ?? {},
    response: kind.response ?? 'response',
    usesTruth: kind.usesTruth ?? true,
    ...(known.label === undefined ? {} : { label: known.label }),
  } as const
  checkSecrets(name, entry, options.env)
  const { work } = await known.load()
  if ((typeof work === 'function' ? work(about.flags) : work) === 'pure') {
    const target = targetOf({ ...about, jobs: 1 })
    return new PooledVerifier({
      ...identity,
      ...processes(entry, options),
      target,
      request: askedOf,
      idleMs,
    })
  }
  const concurrency = Math.min(entry.concurrency ?? options.size, options.concurrency)
  return new HostedVerifier({
    ...identity,
    open: () => openKindJudge({ ...about, jobs: concurrency }),
    request: askedOf,
    concurrency,
    // Each run of a program has a limit of its own, and how many there are the ground truth decides.
    wallMs: entry.wallMs ?? (entry.kind === 'code' ? undefined : hostedWallMs),
  })
}

function remoteOf(name: string, entry: EntryOf<'remote'>, options: OpenOptions): Verifier {
  const { kind: _, headersEnv = {}, concurrency = options.concurrency, ...rest } = entry
  checkSecrets(name, entry, options.env)
  const headers = Object.fromEntries(
    Object.entries(headersEnv).map(([header, variable]) => [header, options.env?.[variable] ?? '']),
  )
  return withPlaces(remote({ ...rest, name, headers }), Math.min(concurrency, options.concurrency))
}

function judgeOf(name: string, entry: EntryOf<'judge'>, options: OpenOptions): Verifier {
  const { kind: _, apiKeyEnv, concurrency = options.concurrency, ...rest } = entry
  checkSecrets(name, entry, options.env)
  const headers: Record<string, string> = {}
  if (apiKeyEnv !== undefined) headers.authorization = `Bearer ${options.env?.[apiKeyEnv] ?? ''}`
  return withPlaces(llmJudge({ ...rest, name, headers }), Math.min(concurrency, options.concurrency))
}

/** @throws CascadeError CONFIG_INVALID naming the field, where an environment lacks a variable that an entry names */
export function checkSecrets(name: string, entry: VerifierEntry, env: OpenOptions['env']): void {
  if (env === undefined) return
  const named: Readonly<Record<string, string>> =
    entry.kind === 'remote'
      ? Object.fromEntries(
          Object.entries(entry.headersEnv ?? {}).map(([header, variable]) => [
            `headersEnv.${header}`,
            variable,
          ]),
        )
      : entry.kind === 'judge' && entry.apiKeyEnv !== undefined
        ? { apiKeyEnv: entry.apiKeyEnv }
        : entry.kind === 'patch' && entry.judge?.apiKeyEnv !== undefined
          ? { 'judge.apiKeyEnv': entry.judge.apiKeyEnv }
          : {}
  for (const [field, variable] of Object.entries(named)) {
    const value = env[variable]
    if (value) continue
    throw new CascadeError(
      'CONFIG_INVALID',
      `verifiers.${name}.${field}: expected the environment variable ${variable} to be set, got ${value === undefined ? 'none' : 'an empty one'}`,
    )
  }
}

function processes(
  entry: { concurrency?: number | undefined; wallMs?: number | undefined; memoryMb?: number | undefined },
  { size, concurrency, limits }: OpenOptions,
) {
  const { wallMs, memoryMb } = entry
  return {
    size: Math.min(entry.concurrency ?? size, concurrency),
    limits: {
      ...limits,
      ...(wallMs === undefined ? {} : { wallMs }),
      ...(memoryMb === undefined ? {} : { memoryMb }),
    },
  }
}
