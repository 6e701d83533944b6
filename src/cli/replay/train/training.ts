import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CascadeError } from '../../../../topics/index.ts'

/** In the folder of a run that trains on stored rollouts: what it set out to do. */
export const trainingFile = 'training.json'

const bound = z.number().positive().optional()

const trainingSchema = z.looseObject({
  format: z.literal(1),
  stage: z.string(),
  /** Of the run that sampled the rollouts, as `--from-checkpoint` named it; null: where the range's first step began. */
  from: z.string().nullable(),
  /** Id of the checkpoint that it started from. */
  checkpoint: z.string(),
  /** Of the first weights; that of the run as well. */
  version: z.int().min(0),
  /** The optimiser goes on, as in the middle of a stage. */
  goesOn: z.boolean(),
  /** As long as steps close as they closed in the run, the weights are the run's own, bit for bit. */
  exact: z.boolean(),
  /** Of the ratio, once they are not. */
  clip: z.object({ clipLow: bound, clipHigh: bound }),
  steps: z
    .array(
      z.object({
        step: z.int().min(1),
        baseVersion: z.int().min(0),
        version: z.int().min(0),
        opens: z.boolean(),
        settings: z.record(z.string(), z.number()).optional(),
        groups: z.int().min(0),
        digest: z.string(),
      }),
    )
    .min(1),
})
export type Training = z.infer<typeof trainingSchema>

/** What the run in `dir` set out to do; nothing where it only judged. @throws `CONFIG_INVALID` for a damaged file */
export async function readTraining(dir: string): Promise<Training | undefined> {
  const file = join(dir, trainingFile)
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined
    throw new CascadeError('RUN_DIR_UNUSABLE', `${file}: cannot read: ${cause.message}`, { cause })
  })
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new CascadeError('CONFIG_INVALID', `${file}: expected JSON`, { cause })
  }
  const parsed = trainingSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new CascadeError('CONFIG_INVALID', `${file}: field ${issue?.path.join('.')}: ${issue?.message}`)
}
