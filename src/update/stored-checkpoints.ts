import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CascadeError, type Checkpoint } from '../../topics/index.ts'
import { checkpointFiles } from '../model/weights/checkpoint.ts'
import { checkpointsFolder } from './checkpoint-store.ts'

/** In the order in which a checkpoint's content hash lists them. */
const names = [...Object.values(checkpointFiles), 'tokenizer.json', 'manifest.json']

const manifestSchema = z.looseObject({
  format: z.literal(1),
  version: z.int().min(0),
  stage: z.string().min(1),
  step: z.int().min(0),
  reason: z.enum(['initial', 'interval', 'stage-end']),
  gradientBatchOffset: z.int().min(0),
})

/**
 * The checkpoints of a run folder by their own manifests, in order: for a run whose log has no record of them any more. Each is checked
 * against the content hash in its name.
 *
 * @throws `CHECKPOINT_INVALID` naming the folder
 */
export async function storedCheckpoints(run: string): Promise<Checkpoint[]> {
  const parent = join(run, checkpointsFolder)
  const folders = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found: Checkpoint[] = []
  for (const id of folders.filter((name) => /^\d{6,}-[0-9a-f]{16}$/.test(name)).sort()) {
    found.push(await stored(parent, id))
  }
  const rank = { initial: 0, interval: 1, 'stage-end': 2 }
  return found.sort((a, b) => a.version - b.version || rank[a.reason] - rank[b.reason])
}

async function stored(parent: string, id: string): Promise<Checkpoint> {
  const folder = join(parent, id)
  const invalid = (why: string, cause?: unknown) =>
    new CascadeError('CHECKPOINT_INVALID', `${folder}: ${why}`, { cause })
  const files: Checkpoint['files'] = []
  let manifest: unknown
  for (const name of names) {
    const content = await readFile(join(folder, name)).catch((cause: unknown) => {
      throw invalid(`expected the file ${name}, got none`, cause)
    })
    files.push({ name, bytes: content.byteLength, sha256: sha256(content) })
    if (name === 'manifest.json') {
      try {
        manifest = JSON.parse(content.toString())
      } catch (cause) {
        throw invalid('manifest.json: expected JSON', cause)
      }
    }
  }
  const parsed = manifestSchema.safeParse(manifest)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw invalid(`manifest.json: field ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const contentHash = sha256(JSON.stringify(files))
  if (!id.endsWith(`-${contentHash.slice(0, 16)}`)) {
    throw invalid(`expected the content that its name says, got content hash ${contentHash.slice(0, 16)}`)
  }
  const { version, stage, step, reason, gradientBatchOffset } = parsed.data
  return {
    id,
    stage,
    step,
    version,
    reason,
    path: `${checkpointsFolder}/${id}`,
    writerEpoch: 0,
    contentHash,
    weightsHash: files.find((f) => f.name === checkpointFiles.model)!.sha256,
    gradientBatchOffset,
    files,
  }
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
