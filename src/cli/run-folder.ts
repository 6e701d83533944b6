import { access, constants, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { CascadeError } from '../../topics/index.ts'
import { syncFolder } from '../sync-folder.ts'
import { type CascadeConfig, configSchema } from './config.ts'

/**
 * A run folder:
 * `run.json` (this manifest), `log/` (the topics), `checkpoints/`, `report.md`, `report.html`, `report.json`.
 */
export const manifestSchema = z.looseObject({
  runId: z.string(),
  version: z.string(),
  seed: z.int().min(0),
  deterministic: z.boolean(),
  createdAt: z.string(),
  configHash: z.string(),
  config: configSchema,
  /** The numeric profile of the engine: a replay is exact only on the same one. */
  profile: z.record(z.string(), z.unknown()),
  /** Where the rollouts of a run come from that only judges them again. */
  rescored: z.looseObject({ run: z.string(), topic: z.string(), from: z.int(), to: z.int() }).optional(),
})
export type Manifest = z.infer<typeof manifestSchema>

export const manifestFile = 'run.json'

/** @throws `RUN_NOT_FOUND`, `CONFIG_INVALID` for a damaged manifest. */
export async function readManifest(dir: string): Promise<Manifest> {
  const file = join(dir, manifestFile)
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') {
      throw new CascadeError(
        'RUN_NOT_FOUND',
        `${dir}: expected a run folder with ${manifestFile}, got none`,
        { cause },
      )
    }
    throw new CascadeError('RUN_DIR_UNUSABLE', `${file}: cannot read: ${cause.message}`, { cause })
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `${file}: expected JSON, got ${JSON.stringify(text.slice(0, 40))}`,
      { cause },
    )
  }
  const parsed = manifestSchema.safeParse(value)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new CascadeError('CONFIG_INVALID', `${file}: field ${issue?.path.join('.')}: ${issue?.message}`)
  }
  return parsed.data
}

/** @throws `RUN_EXISTS` where the folder has a run already. */
export async function refuseExisting(dir: string): Promise<void> {
  if (await exists(join(dir, manifestFile))) {
    throw new CascadeError(
      'RUN_EXISTS',
      `${dir}: a run is there already; continue it with --resume, or choose another --dir`,
    )
  }
}

/** Creates the folder and its manifest. @throws `RUN_EXISTS`, `RUN_DIR_UNUSABLE`. */
export async function createRun(dir: string, manifest: Manifest): Promise<void> {
  try {
    await makeFolder(dir)
    await access(dir, constants.W_OK)
  } catch (cause) {
    throw new CascadeError(
      'RUN_DIR_UNUSABLE',
      `${dir}: expected a folder that can be written, got ${(cause as Error).message}`,
      { cause },
    )
  }
  await refuseExisting(dir)
  await writeWhole(dir, manifestFile, manifest)
}

/** Writes a JSON file of a run folder such that under its name it is whole or absent, whatever happens. @throws `RUN_DIR_UNUSABLE` */
export async function writeWhole(dir: string, name: string, value: unknown): Promise<void> {
  const temporary = join(dir, `.${name}.tmp`)
  try {
    await writeFile(temporary, `${JSON.stringify(value, null, 2)}\n`, { flush: true })
    await rename(temporary, join(dir, name))
    await syncFolder(dir)
  } catch (cause) {
    throw new CascadeError('RUN_DIR_UNUSABLE', `${dir}: cannot write ${name}: ${(cause as Error).message}`, {
      cause,
    })
  }
}

/**
 * Makes a folder and those above it. Node's own `recursive` never ends where a parent that is there refuses with ENOENT,
 * as those of `/proc` do.
 */
async function makeFolder(dir: string): Promise<void> {
  try {
    await mkdir(dir)
    await syncFolder(dirname(dir))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(dir)).isDirectory()) return
    if (code !== 'ENOENT' || (await exists(dirname(dir)))) throw error
    await makeFolder(dirname(dir))
    await makeFolder(dir)
  }
}

/** The run under `parent` that was created last. @throws `RUN_NOT_FOUND`. */
export async function latestRun(parent: string): Promise<string> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const runs: { dir: string; at: number }[] = []
  for (const name of names) {
    const dir = join(parent, name)
    if (await exists(join(dir, manifestFile)))
      runs.push({ dir, at: (await stat(join(dir, manifestFile))).mtimeMs })
  }
  const newest = runs.sort((a, b) => b.at - a.at)[0]
  if (!newest)
    throw new CascadeError(
      'RUN_NOT_FOUND',
      `${parent}: expected a run to resume, got none; start one without --resume`,
    )
  return newest.dir
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false
      throw error
    },
  )
}

/** A config's model as the engine names it. */
export function modelOf(config: CascadeConfig, vocabSize: number) {
  const {
    layers,
    hidden,
    heads,
    kvHeads = heads,
    intermediate = Math.ceil((hidden * 8) / 3 / 32) * 32,
    maxLength,
    ropeTheta,
  } = config.model
  return {
    vocab_size: vocabSize,
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: hidden / heads,
    intermediate_size: intermediate,
    rms_norm_eps: 1e-5,
    rope_theta: ropeTheta,
    max_position_embeddings: maxLength,
    tie_word_embeddings: true,
  }
}
