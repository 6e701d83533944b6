import { z } from 'zod'

const field = z.string().min(1)

/** An entry of the section `tasks` of a config: prompts of a file. Paths are relative to the config file. */
export const fileTaskSchema = z.strictObject({
  kind: z.literal('jsonl'),
  /** Rows to train on: JSON Lines, `.gz` compressed. */
  path: z.string().min(1),
  /** Rows to evaluate on; without it one prompt in eight is held out. */
  heldOut: z.string().min(1).optional(),
  /** @default the task's name */
  domain: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'expected lower-case letters, digits and hyphens')
    .optional(),
  prompt: field.optional(),
  truth: z.union([field, z.array(field).min(1)]).optional(),
  response: field.optional(),
  verifier: z.string().min(1),
  maxResponseTokens: z.int().min(1).optional(),
  badRows: z.enum(['refuse', 'skip']).optional(),
  /** sha256 of the files, which the loader of a config fills in: a resumed run must find them as they were. */
  content: z.string().optional(),
})
export type FileTaskEntry = z.infer<typeof fileTaskSchema>

export const fileTasksSchema = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'expected lower-case letters, digits and hyphens'),
  fileTaskSchema,
)
