import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CascadeError, type Checkpoint, isCascadeError } from '../../topics/index.ts'
import type { ModelConfig } from '../model/config.ts'
import { type DecodedCheckpoint, decodeCheckpoint } from '../model/weights/checkpoint.ts'
import type { VersionedEngine } from '../policy/versioned-engine.ts'
import type { CheckpointStore } from './checkpoint-store.ts'

/**
 * Weights and optimiser state of a committed checkpoint, into the engine.
 *
 * @throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_SHAPE` where it is of another model's shape
 */
export async function loadCheckpoint(
  versioned: VersionedEngine,
  store: CheckpointStore,
  checkpoint: Checkpoint,
): Promise<void> {
  const { config } = versioned.engine
  const { state } = decode(await store.read(checkpoint), config, store.folder(checkpoint))
  await versioned.engine.loadState(state)
  versioned.set(checkpoint.version)
}

/**
 * The weights of a checkpoint folder, of a run or in the form of Hugging Face, into the engine; the optimiser starts afresh.
 *
 * @throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_SHAPE`
 */
export async function loadFolder(versioned: VersionedEngine, folder: string): Promise<void> {
  const { state } = await readFolder(versioned.engine.config, folder)
  await versioned.engine.loadState(state)
  await versioned.engine.resetOptimizer()
}

/**
 * What {@link loadFolder} loads, for a model of that config.
 *
 * @throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_SHAPE`
 */
export async function readFolder(config: ModelConfig, folder: string): Promise<DecodedCheckpoint> {
  const files = new Map<string, Uint8Array>()
  try {
    for (const name of await readdir(folder)) {
      if (name === 'config.json' || name.endsWith('.safetensors')) {
        files.set(name, await readFile(join(folder, name)))
      }
    }
  } catch (cause) {
    throw new CascadeError(
      'CHECKPOINT_NOT_FOUND',
      `${folder}: expected a folder with a checkpoint: ${String(cause)}`,
      { cause },
    )
  }
  return decode(files, config, folder)
}

/** Its errors name the folder; {@link decodeCheckpoint} knows the files alone. */
function decode(
  files: ReadonlyMap<string, Uint8Array>,
  config: ModelConfig,
  folder: string,
): DecodedCheckpoint {
  try {
    return decodeCheckpoint(files, config)
  } catch (error) {
    if (!isCascadeError(error)) throw error
    throw new CascadeError(error.code, `${folder}: ${error.message}`, { cause: error })
  }
}
