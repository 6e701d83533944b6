import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Probe } from '../../streams/ports.ts'
import { CascadeError, type Checkpoint } from '../../topics/index.ts'
import { syncFolder } from '../sync-folder.ts'
import { type FolderFile, writeFolder } from '../write-folder.ts'

/** Within a run folder. */
export const checkpointsFolder = 'checkpoints'

export type CheckpointFile = FolderFile

export interface StoredCheckpoint {
  id: string
  /** Relative to the run folder. */
  path: string
  contentHash: string
  files: Checkpoint['files']
}

/**
 * Checkpoint folders under `<run>/checkpoints`. A folder is written under a temporary name, every file and the
 * folder synced, then renamed and the parent synced: under its final name it is whole or absent. The name has
 * version and content, so writing the same weights twice is one folder.
 */
export class CheckpointStore {
  readonly #run: string
  readonly #probe: Probe

  constructor(run: string, probe: Probe = () => undefined) {
    this.#run = run
    this.#probe = probe
  }

  /** @throws `LOG_FULL` where the disk is full; nothing is left under the final name then. */
  async write(
    version: number,
    writerEpoch: number,
    files: readonly CheckpointFile[],
  ): Promise<StoredCheckpoint> {
    const listed = files.map((f) => ({ name: f.name, bytes: f.bytes.byteLength, sha256: sha256(f.bytes) }))
    const contentHash = sha256(Buffer.from(JSON.stringify(listed)))
    const id = `${String(version).padStart(6, '0')}-${contentHash.slice(0, 16)}`
    const parent = join(this.#run, checkpointsFolder)
    const target = join(parent, id)
    const stored = { id, path: `${checkpointsFolder}/${id}`, contentHash, files: listed }
    if (await mkdir(parent, { recursive: true })) await syncFolder(this.#run)
    if (await isWhole(target, listed)) return stored
    const temporary = join(parent, `.tmp-${id}-${writerEpoch}`)
    try {
      await writeFolder(target, temporary, files, (stage) => this.#probe(`checkpoint:${stage}`))
    } catch (cause) {
      const full = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC'
      throw new CascadeError(
        full ? 'LOG_FULL' : 'RUN_DIR_UNUSABLE',
        `${target}: cannot write the checkpoint: ${full ? 'the disk is full' : String(cause)}`,
        { cause },
      )
    }
    return stored
  }

  folder({ path }: Pick<Checkpoint, 'path'>): string {
    return join(this.#run, path)
  }

  /**
   * The files of a committed checkpoint, each checked against its record.
   *
   * @throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID` naming the file.
   */
  async read(
    checkpoint: Pick<Checkpoint, 'path' | 'files'>,
    names?: readonly string[],
  ): Promise<Map<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>()
    for (const file of checkpoint.files) {
      if (names && !names.includes(file.name)) continue
      const path = join(this.folder(checkpoint), file.name)
      let content: Buffer
      try {
        content = await readFile(path)
      } catch (cause) {
        throw new CascadeError(
          'CHECKPOINT_NOT_FOUND',
          `${path}: expected a file of ${file.bytes} bytes, got none`,
          { cause },
        )
      }
      const got = sha256(content)
      if (got !== file.sha256) {
        throw new CascadeError(
          'CHECKPOINT_INVALID',
          `${path}: expected ${file.bytes} bytes with sha256 ${file.sha256.slice(0, 12)}…, got ${content.byteLength} bytes with ${got.slice(0, 12)}…`,
        )
      }
      found.set(file.name, content)
    }
    return found
  }

  /** Removes every folder that is not named, and what a crash left half-written. */
  async prune(keep: ReadonlySet<string>): Promise<string[]> {
    const parent = join(this.#run, checkpointsFolder)
    const removed: string[] = []
    const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    for (const name of names) {
      if (keep.has(name)) continue
      await rm(join(parent, name), { recursive: true, force: true })
      removed.push(name)
    }
    return removed
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function isWhole(folder: string, files: Checkpoint['files']): Promise<boolean> {
  for (const file of files) {
    const found = await stat(join(folder, file.name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (found?.size !== file.bytes) return false
    if (sha256(await readFile(join(folder, file.name))) !== file.sha256) return false
  }
  return true
}
