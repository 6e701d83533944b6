import { z } from 'zod'
import { patchOptions } from '../patch/patch.ts'
import { judgeOptions } from '../preference/index.ts'
import { remoteOptions } from '../remote/remote.ts'

/** The section `verifiers` of a config: one entry a name. Paths are relative to the config file; secrets are named, never given. */

/** Without an @: a version is asked for as NAME@VERSION. */
export const verifierName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, 'expected letters, digits, - and _, a letter or digit first')

const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')

/** Of processes that judge. */
const processes = {
  /** How many. @default one a core, within `verify.concurrency` */
  concurrency: z.int().min(1).optional(),
  /** Milliseconds of one judgement. @default `verify.timeoutMs` */
  wallMs: z.int().min(1).optional(),
  /** Megabytes of one process. @default 512 */
  memoryMb: z.int().min(64).optional(),
}

/** Requests that are under way at the same time. @default no bound but `verify.concurrency` */
const requests = { concurrency: z.int().min(1).optional() }

const math = z.strictObject({
  kind: z.literal('math'),
  /** A response is the answer's expression alone. */
  bare: z.boolean().optional(),
  ...processes,
})

const instruction = z.strictObject({
  kind: z.literal('instruction'),
  /** Of a ground truth that says nothing of it. @default strict */
  mode: z.enum(['strict', 'loose']).optional(),
  /** The share of instructions that are followed is the score. */
  share: z.boolean().optional(),
  ...processes,
})

const code = z.strictObject({
  kind: z.literal('code'),
  /** The share of tests that pass is the score. */
  partial: z.boolean().optional(),
  sandbox: z.enum(['wasm', 'bubblewrap', 'piston', 'sandboxfusion']).optional(),
  /** Where the server of `piston` or `sandboxfusion` is. */
  sandboxUrl: z.url({ protocol: /^https?$/ }).optional(),
  /** Of a ground truth that says nothing of it. */
  language: z.enum(['python', 'javascript', 'typescript']).optional(),
  /** Milliseconds of one run of the program, where the ground truth does not say. @default 5,000 */
  timeoutMs: z.int().min(1).max(3_600_000).optional(),
  /** Programs that run at the same time. @default one a core, within `verify.concurrency` */
  concurrency: z.int().min(1).optional(),
  /** Milliseconds of all tests of one program: a longer judgement is an error. @default none but that of each run */
  wallMs: z.int().min(1).optional(),
})

const patch = z.strictObject({
  kind: z.literal('patch'),
  formatPenalty: patchOptions.shape.formatPenalty.unwrap().optional(),
  fuzz: patchOptions.shape.fuzz.unwrap().optional(),
  unit: patchOptions.shape.unit.unwrap().optional(),
  autojunk: patchOptions.shape.autojunk.unwrap().optional(),
  maxEdits: patchOptions.shape.maxEdits.unwrap().optional(),
  maxResponse: patchOptions.shape.maxResponse.unwrap().optional(),
  /** Folder of an ONNX embedding model that compares meanings. */
  embedding: z.string().min(1).optional(),
  /** With `embedding`. @default as the model says */
  pooling: z.enum(['mean', 'cls']).optional(),
  /** With `embedding`: the weight of meaning beside wording. @default 1 */
  semanticWeight: z.number().min(0).max(1).optional(),
  /** A language model behind an OpenAI-compatible endpoint, which is asked about what is not the reference itself. */
  judge: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }),
      model: z.string().min(1),
      /** Environment variable of the key that is sent as a bearer token. */
      apiKeyEnv: environmentName.optional(),
    })
    .optional(),
  ...processes,
})

const preference = z.strictObject({
  kind: z.literal('preference'),
  /** Folder of a reward model. */
  model: z.string().min(1),
  concurrency: z.int().min(1).optional(),
  /** Milliseconds of one judgement. @default 60,000 */
  wallMs: z.int().min(1).optional(),
})

const remote = z.strictObject({
  kind: z.literal('remote'),
  ...remoteOptions.omit({ name: true, headers: true }).shape,
  /** Headers whose values are those of environment variables: `{ authorization: 'REWARD_TOKEN' }`. */
  headersEnv: z.record(z.string().min(1), environmentName).optional(),
  ...requests,
})

const judge = z.strictObject({
  kind: z.literal('judge'),
  ...judgeOptions.omit({ name: true, headers: true }).shape,
  /** Environment variable of the key that is sent as a bearer token. */
  apiKeyEnv: environmentName.optional(),
  ...requests,
})

const file = z.strictObject({
  kind: z.literal('file'),
  /** A TypeScript or JavaScript module, as `cascade verifiers stage` takes it. */
  file: z.string().min(1),
  options: z.json().optional(),
  ...processes,
})

const composite = z.strictObject({
  kind: z.literal('composite'),
  version: z.string().min(1).default('1'),
  parts: z
    .array(
      z.strictObject({
        verifier: verifierName,
        weight: z.number().default(1),
        gate: z.strictObject({ atLeast: z.number(), otherwise: z.number() }).optional(),
      }),
    )
    .min(1),
  length: z
    .strictObject({ free: z.number().min(0), full: z.number(), most: z.number() })
    .refine(({ free, full }) => full > free, 'expected full above free')
    .optional(),
})

const all = [math, instruction, code, patch, preference, remote, judge, file, composite] as const

export const verifierEntrySchema = z.discriminatedUnion('kind', all)
/** Every kind that an entry may be of. */
export const entryKinds: readonly string[] = all.map((schema) => schema.shape.kind.value)
export type VerifierEntry = z.infer<typeof verifierEntrySchema>
export type EntryOf<K extends VerifierEntry['kind']> = Extract<VerifierEntry, { kind: K }>

export const verifierEntriesSchema = z.record(verifierName, verifierEntrySchema)
export type VerifierEntries = Readonly<Record<string, VerifierEntry>>
