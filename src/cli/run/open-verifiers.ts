import { availableParallelism } from 'node:os'
import type { TopicLog } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import type { TaskSource } from '../../tasks/source.ts'
import type { OpenOptions } from '../../verifiers/configured/open.ts'
import { ConfiguredVerifiers } from '../../verifiers/configured/verifiers.ts'
import { RunVerifiers } from '../../verifiers/swap/run-verifiers.ts'
import { VerifierStore } from '../../verifiers/swap/store.ts'
import type { Manifest } from '../run-folder.ts'
import { usedVerifiers } from './used-verifiers.ts'

type Recorded = Pick<Manifest, 'config' | 'verifiers' | 'deterministic'>

/**
 * How a run's verifiers are opened; modules come from the run's store. A deterministic run judges one rollout after the other: verdicts
 * that overtake each other would change the order of its records.
 */
export function openOptions(
  dir: string,
  { config, verifiers: recorded = {}, deterministic }: Recorded,
  env?: OpenOptions['env'],
): OpenOptions {
  const { timeoutMs } = config.verify
  const concurrency = deterministic ? 1 : config.verify.concurrency
  const store = new VerifierStore(dir)
  return {
    entries: config.verifiers ?? {},
    concurrency,
    size: Math.min(concurrency, availableParallelism()),
    limits: { wallMs: timeoutMs },
    ...(env === undefined ? {} : { env }),
    async stored(name) {
      const codeHash = recorded[name]?.codeHash
      if (codeHash === undefined) {
        throw new CascadeError('VERIFIER_FAILED', `verifier ${name}: expected a module of the run, got none`)
      }
      return { codeHash, stored: await store.get(codeHash) }
    },
  }
}

/**
 * The verifiers of a run, as its config and its log have them, those that its stages use tried on their samples.
 *
 * @throws CascadeError VERIFIER_FAILED, CONFIG_INVALID
 */
export async function openRunVerifiers(
  log: TopicLog,
  dir: string,
  manifest: Recorded,
  { env, signal }: { env: NonNullable<OpenOptions['env']>; signal: AbortSignal },
): Promise<RunVerifiers> {
  const options = openOptions(dir, manifest, env)
  const initial = await ConfiguredVerifiers.open(usedVerifiers(manifest.config), options)
  try {
    await initial.preflight(signal)
    const { size, limits } = options
    return await RunVerifiers.open({ log, dir, initial, size, limits }, signal)
  } catch (error) {
    await initial[Symbol.asyncDispose]()
    throw error
  }
}

/** The verifiers by which the held-out prompts of domains are scored: those of their tasks. @throws what {@link ConfiguredVerifiers.open} throws */
export function openEvaluationVerifiers(
  source: TaskSource,
  domains: readonly string[],
  dir: string,
  manifest: Recorded,
  env: NonNullable<OpenOptions['env']>,
): Promise<ConfiguredVerifiers> {
  const names = new Set(domains.map((domain) => source.heldOut(domain, 1)[0]!.verifier))
  return ConfiguredVerifiers.open([...names], openOptions(dir, manifest, env))
}
