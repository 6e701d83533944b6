import { CascadeError } from '../../../topics/index.ts'
import { tasks } from '../../tasks/index.ts'
import { meaningOf, withParts } from '../../verifiers/configured/names.ts'
import { checkSecrets } from '../../verifiers/configured/open.ts'
import type { EntryOf, VerifierEntry } from '../../verifiers/configured/schema.ts'
import { type Bundle, bundleVerifier } from '../../verifiers/swap/bundle.ts'
import { tryBundle } from '../../verifiers/swap/try-bundle.ts'
import type { CascadeConfig } from '../config.ts'

type Config = Pick<CascadeConfig, 'stages' | 'tasks' | 'verifiers' | 'verify'>

/** Names of the verifiers that a run's stages train and are evaluated by. */
export function usedVerifiers({ stages, tasks: own = {} }: Pick<Config, 'stages' | 'tasks'>): string[] {
  const ofTasks = stages
    .flatMap((s) => (s.kind === 'rl' ? [s.task] : s.tasks))
    .flatMap((task) => {
      const verifier =
        own[task]?.verifier ?? (Object.hasOwn(tasks, task) ? tasks[task]!().verifier : undefined)
      return verifier === undefined ? [] : [verifier]
    })
  const ofStages = stages.flatMap((s) => (s.kind === 'rl' && s.verifier !== undefined ? [s.verifier] : []))
  return [...new Set([...ofTasks, ...ofStages])]
}

/** Entries among those that a run uses, with what composites are made of. */
function usedEntries(config: Config): [name: string, entry: VerifierEntry][] {
  const entries = config.verifiers ?? {}
  const names = new Set(usedVerifiers(config).flatMap((name) => withParts(name, entries)))
  return [...names].flatMap((name): [string, VerifierEntry][] => {
    const meaning = meaningOf(name, entries)
    return meaning && 'entry' in meaning ? [[name, meaning.entry]] : []
  })
}

/** @throws CascadeError CONFIG_INVALID naming the field whose environment variable is not set */
export function checkEnvironment(config: Config, env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, entry] of usedEntries(config)) checkSecrets(name, entry, env)
}

/** A module that a run judges with, as it was when the run began. */
export interface FileVerifier {
  readonly name: string
  readonly version: string
  readonly bundle: Bundle
}

/**
 * The files that a run's verifiers are, bundled and tried on their samples: the run keeps them, so that a resumed one judges by the same
 * code.
 *
 * @throws CascadeError CONFIG_INVALID naming the field of a file that is no module; VERIFIER_FAILED naming what it got wrong
 */
export async function bundleFiles(config: Config, signal: AbortSignal): Promise<FileVerifier[]> {
  const files = usedEntries(config).filter((e): e is [string, EntryOf<'file'>] => e[1].kind === 'file')
  return Promise.all(
    files.map(async ([name, { file, options, wallMs = config.verify.timeoutMs, memoryMb }]) => {
      const bundle = await bundleVerifier(file, '.', options).catch((cause: unknown) => {
        const why = cause instanceof Error ? cause.message : String(cause)
        throw new CascadeError('CONFIG_INVALID', `verifiers.${name}.file: ${why}`, { cause })
      })
      const limits = { wallMs, ...(memoryMb === undefined ? {} : { memoryMb }) }
      const entry = `verifiers.${name}: ${file}`
      return { name, bundle, version: await tryBundle(bundle, { entry, limits, signal }) }
    }),
  )
}
