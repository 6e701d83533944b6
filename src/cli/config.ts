import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { CascadeError, type StageInput, stageSpecSchema } from '../../topics/index.ts'
import { tasks as builtInTasks } from '../tasks/index.ts'
import { fileTasksSchema } from '../tasks/schema.ts'
import { faultsOf, knownNames, meaningOf } from '../verifiers/configured/names.ts'
import { verifierEntriesSchema } from '../verifiers/configured/schema.ts'
import { pinFileTasks } from './run/file-tasks.ts'
import { expandSubStages } from './sub-stages.ts'

/** The config that `cascade run` takes where it is given none. */
export const configFile = 'cascade.config.ts'

/** What `cascade.config.ts` may say. Every field has a default that suits a laptop. */
export const configSchema = z.strictObject({
  model: z
    .strictObject({
      layers: z.int().min(1).default(4),
      hidden: z.int().min(8).default(128),
      heads: z.int().min(1).default(4),
      kvHeads: z.int().min(1).optional(),
      intermediate: z.int().min(8).optional(),
      maxLength: z.int().min(8).default(256),
      ropeTheta: z.number().positive().default(10_000),
      /** Folder of a checkpoint to start from instead of fresh weights, relative to the config file. */
      init: z.string().optional(),
    })
    .default({ layers: 4, hidden: 128, heads: 4, maxLength: 256, ropeTheta: 10_000 }),
  /** In order; each stage starts from the weights that the one before ended with. */
  stages: z.array(stageSpecSchema).min(1),
  evaluation: z
    .strictObject({
      /** Held-out prompts a domain. */
      prompts: z.int().min(1).default(256),
      maxTokens: z.int().min(1).optional(),
    })
    .default({ prompts: 256 }),
  engine: z
    .strictObject({
      provider: z.enum(['cpu', 'cuda', 'webgpu']).default('cpu'),
      /** Threads of one operator; 0 means one a core. */
      threads: z.int().min(0).default(0),
      /** Tokens of a micro-batch at most, padding included. */
      microBatchTokens: z.int().min(64).default(8192),
      /** Rows decoded together at most. */
      decodeRows: z.int().min(1).default(256),
    })
    .default({ provider: 'cpu', threads: 0, microBatchTokens: 8192, decodeRows: 256 }),
  verify: z
    .strictObject({
      concurrency: z.int().min(1).default(64),
      attempts: z.int().min(1).default(3),
      timeoutMs: z.int().min(1).default(10_000),
      /** While most verdicts of a verifier are errors its rollouts wait, at most so long. */
      maxOutageMs: z.int().min(1).default(600_000),
    })
    .default({ concurrency: 64, attempts: 3, timeoutMs: 10_000, maxOutageMs: 600_000 }),
  /** Tasks of the user's own prompts, by name. Absent where there are none, as the verifiers. */
  tasks: fileTasksSchema.optional(),
  /** Verifiers of stages, by name. Absent where there are none: the hash of a config without any stays what it was. */
  verifiers: verifierEntriesSchema.optional(),
  /** Credit of each operator: what it may hold at most. */
  credit: z
    .strictObject({
      records: z.int().min(1).default(4096),
      bytes: z
        .int()
        .min(1)
        .default(64 * 1024 * 1024),
    })
    .default({ records: 4096, bytes: 64 * 1024 * 1024 }),
  checkpoints: z.strictObject({ keepLast: z.int().min(1).default(2) }).default({ keepLast: 2 }),
})

export type CascadeConfig = z.infer<typeof configSchema>
/** A part of a stage: what differs from it. See `sub-stages.ts`. */
export type SubStageInput =
  Partial<StageInput> extends infer S ? (S extends unknown ? Omit<S, 'kind'> : never) : never
/** What a config file writes. */
export type CascadeInput = Omit<z.input<typeof configSchema>, 'stages'> & {
  /** In order; a stage with `subStages` stands for so many, one after the other. */
  stages: WithSubStages<StageInput>[]
}
type WithSubStages<S> = S extends unknown
  ? S | (Omit<S, 'steps'> & { steps?: number; subStages: SubStageInput[] })
  : never

/**
 * Types a config file; validation happens when it is loaded.
 *
 * @example
 * export default defineCascade({ stages: [{ kind: 'sft', name: 'sft', domain: 'mixed', tasks: ['math'], steps: 100, batch: 64, lr: 1e-3 }] })
 */
export function defineCascade(config: CascadeInput): CascadeInput {
  return config
}

/** @throws `CONFIG_INVALID` naming the file, the field, what was expected and what came. */
export function parseConfig(value: unknown, where: string): CascadeConfig {
  const expanded = expandSubStages(value, where)
  const parsed = configSchema.safeParse(expanded.value)
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => {
      const at = expanded.given(issue.path)
      return `${path(at)}: ${issue.message}${came(value, at)}`
    })
    throw new CascadeError('CONFIG_INVALID', `${where}: ${fields.join('; ')}`)
  }
  const names = parsed.data.stages.map((s) => s.name)
  const twice = names.find((n, i) => names.indexOf(n) !== i)
  if (twice !== undefined) {
    throw new CascadeError('CONFIG_INVALID', `${where}: stages: expected distinct names, got ${twice} twice`)
  }
  for (const [i, stage] of parsed.data.stages.entries()) {
    if (stage.kind === 'rl' && stage.minGroups > stage.prompts) {
      throw new CascadeError(
        'CONFIG_INVALID',
        `${where}: ${path(expanded.given(['stages', i, 'minGroups']))}: expected at most ${path(expanded.given(['stages', i, 'prompts']))} (${stage.prompts}), got ${stage.minGroups}`,
      )
    }
  }
  checkVerifiers(parsed.data, where, (i) => path(expanded.given(['stages', i, 'verifier'])))
  checkTasks(parsed.data, where)
  const { hidden, heads, kvHeads = heads } = parsed.data.model
  // The runtime's attention kernel takes head widths that are multiples of 8.
  if (hidden % (8 * heads) !== 0) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `${where}: model.hidden: expected a multiple of 8 x model.heads (${8 * heads}), got ${hidden}`,
    )
  }
  if (heads % kvHeads !== 0) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `${where}: model.kvHeads: expected a divisor of model.heads (${heads}), got ${kvHeads}`,
    )
  }
  return parsed.data
}

function checkVerifiers(
  { verifiers = {}, stages }: CascadeConfig,
  where: string,
  fieldOf: (stage: number) => string,
): void {
  const faults = faultsOf(verifiers).map((f) => `${path(['verifiers', ...f.path])}: ${f.message}`)
  if (faults.length > 0) throw new CascadeError('CONFIG_INVALID', `${where}: ${faults.join('; ')}`)
  for (const [i, stage] of stages.entries()) {
    if (stage.kind !== 'rl' || stage.verifier === undefined || meaningOf(stage.verifier, verifiers)) continue
    throw new CascadeError(
      'CONFIG_INVALID',
      `${where}: ${fieldOf(i)}: expected one of ${knownNames(verifiers).join(', ')}, got ${stage.verifier}`,
    )
  }
}

function checkTasks({ tasks = {}, verifiers = {} }: CascadeConfig, where: string): void {
  const invalid = (field: string, expected: string) =>
    new CascadeError('CONFIG_INVALID', `${where}: tasks.${field}: expected ${expected}`)
  for (const [name, { verifier }] of Object.entries(tasks)) {
    if (Object.hasOwn(builtInTasks, name)) throw invalid(name, 'another name: a built-in task has this one')
    if (!meaningOf(verifier, verifiers)) {
      throw invalid(`${name}.verifier`, `one of ${knownNames(verifiers).join(', ')}, got ${verifier}`)
    }
  }
}

/** Imports a config module and validates its default export. */
export async function loadConfig(file: string): Promise<CascadeConfig> {
  const path = resolve(file)
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown }
  } catch (cause) {
    const missing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    const untyped = cause instanceof Error && 'code' in cause && cause.code === 'ERR_UNKNOWN_FILE_EXTENSION'
    const why = untyped
      ? `Node ${process.versions.node} does not run TypeScript: use Node 22.18 or newer, or a .js config`
      : missing && !existsSync(path)
        ? 'no such file'
        : String(cause).replaceAll(/\s*\n\s*/g, ' ')
    throw new CascadeError('CONFIG_INVALID', `${file}: cannot load the config: ${why}`, { cause })
  }
  if (module.default === undefined) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `${file}: expected a default export (export default defineCascade({ … })), got none`,
    )
  }
  const config = parseConfig(module.default, file)
  if (config.model.init !== undefined) config.model.init = resolve(dirname(path), config.model.init)
  resolvePaths(config, dirname(path), file)
  await pinFileTasks(config.tasks ?? {}, dirname(path), file)
  return config
}

/** Files and models of verifiers, which must be there. */
function resolvePaths({ verifiers = {} }: CascadeConfig, folder: string, where: string): void {
  for (const [name, entry] of Object.entries(verifiers)) {
    const there = (field: 'file' | 'model' | 'embedding', given: string): string => {
      const found = resolve(folder, given)
      if (existsSync(found)) return found
      const what = field === 'file' ? 'a module' : "a model's folder"
      throw new CascadeError(
        'CONFIG_INVALID',
        `${where}: verifiers.${name}.${field}: expected ${what}, got ${given}, which is not there`,
      )
    }
    if (entry.kind === 'file') entry.file = there('file', entry.file)
    if (entry.kind === 'preference') entry.model = there('model', entry.model)
    if (entry.kind === 'patch' && entry.embedding !== undefined)
      entry.embedding = there('embedding', entry.embedding)
  }
}

/** Names a config's content: runs of one hash are comparable, and a resumed run must keep it. */
export function hashConfig(config: CascadeConfig): string {
  return createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16)
}

function path(parts: readonly PropertyKey[]): string {
  return (
    parts
      .map((p, i) => (typeof p === 'number' ? `[${p}]` : i === 0 ? String(p) : `.${String(p)}`))
      .join('') || '(config)'
  )
}

function came(value: unknown, parts: readonly PropertyKey[]): string {
  // Where the name of an environment variable is expected, what came may be the secret itself.
  if (parts.some((part) => typeof part === 'string' && part.endsWith('Env'))) return ''
  let at = value
  for (const part of parts) {
    if (typeof at !== 'object' || at === null) return ''
    at = (at as Record<PropertyKey, unknown>)[part]
  }
  if (at === undefined || (typeof at === 'object' && at !== null)) return ''
  return `, got ${JSON.stringify(at)}`
}
