import type { Checkpoint } from '../../topics/index.ts'
import type { ModelConfig } from '../model/config.ts'
import type { DecodedCheckpoint } from '../model/weights/checkpoint.ts'
import { decodeFolder, readCheckpointFolder } from '../model/weights/read-folder.ts'
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
  const { state } = decodeFolder(await store.read(checkpoint), store.folder(checkpoint), config)
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
export function readFolder(config: ModelConfig, folder: string): Promise<DecodedCheckpoint> {
  return readCheckpointFolder(folder, config)
}
