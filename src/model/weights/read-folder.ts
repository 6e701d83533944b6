import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import type { ModelConfig } from '../config.ts'
import { type DecodedCheckpoint, decodeCheckpoint } from './checkpoint.ts'

export interface CheckpointFolder extends DecodedCheckpoint {
  /** Those that were read: config, weights, and the optimiser's where there is one. */
  files: ReadonlyMap<string, Uint8Array>
}

/**
 * A checkpoint folder, of a run or in the form of Hugging Face. Errors name the folder.
 *
 * @throws CascadeError CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID, MODEL_INVALID; CHECKPOINT_SHAPE, also against `expected` where given
 */
export async function readCheckpointFolder(
  folder: string,
  expected?: ModelConfig,
): Promise<CheckpointFolder> {
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
  return { ...decodeFolder(files, folder, expected), files }
}

/** {@link decodeCheckpoint} knows the files alone; errors of this one name the folder. */
export function decodeFolder(
  files: ReadonlyMap<string, Uint8Array>,
  folder: string,
  expected?: ModelConfig,
): DecodedCheckpoint {
  try {
    return decodeCheckpoint(files, expected)
  } catch (error) {
    if (!isCascadeError(error)) throw error
    throw new CascadeError(error.code, `${folder}: ${error.message}`, { cause: error })
  }
}
