import { isDeepStrictEqual } from 'node:util'
import { CascadeError } from '../../../topics/index.ts'
import { type Engine, openEngine } from '../../model/engine/index.ts'
import { tokenizer } from '../../model/tokenizer/index.ts'
import type { CascadeConfig } from '../config.ts'
import { type Manifest, modelOf } from '../run-folder.ts'

/** The engine that a config asks for. @throws `ENGINE_FAILED`, `MODEL_INVALID` */
export function engineOf(config: CascadeConfig, deterministic: boolean): Promise<Engine> {
  const { threads, provider, decodeRows } = config.engine
  return openEngine({
    config: modelOf(config, tokenizer.vocabSize),
    deterministic,
    providers: [provider],
    maxRows: decodeRows,
    ...(threads === 0 ? {} : { threads }),
  })
}

/**
 * Whether what this engine computes continues what the run's engine computed, bit for bit. Returns how they differ.
 *
 * @throws `PROFILE_MISMATCH` for a deterministic run.
 */
export function compareProfile(manifest: Manifest, engine: Engine): string | undefined {
  const list = profileDifference(manifest, engine)
  if (list === undefined) return undefined
  if (manifest.deterministic) {
    throw new CascadeError(
      'PROFILE_MISMATCH',
      `the run is deterministic and began on another numeric profile (${list}): resume it on that one`,
    )
  }
  return `numeric profile differs from the run's (${list}): results go on, but not bit for bit`
}

/** How the numeric profile of an engine differs from the one that a run was computed on, if it does. */
export function profileDifference(
  manifest: Pick<Manifest, 'profile'>,
  engine: Pick<Engine, 'profile'>,
): string | undefined {
  const now: Record<string, unknown> = { ...engine.profile }
  const differing = Object.keys({ ...manifest.profile, ...now }).filter(
    (key) => !isDeepStrictEqual(manifest.profile[key], now[key]),
  )
  if (differing.length === 0) return undefined
  return differing
    .map((key) => `${key}: expected ${String(manifest.profile[key])}, got ${String(now[key])}`)
    .join('; ')
}
