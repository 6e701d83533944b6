import { CascadeError } from '../../topics/index.ts'
import { hash } from './random.ts'
import { type Row, readRows } from './rows.ts'
import { checkIndex, type Item, type Task } from './task.ts'

/** Where a task's prompts stand, and in which fields. */
export interface FileTaskSpec {
  name: string
  /** @default the name */
  domain?: string | undefined
  /** Rows to train on, JSON Lines. */
  path: string
  /** Rows to evaluate on; without it one prompt in eight is held out of `path`, by its hash. */
  heldOut?: string | undefined
  /** Field of the prompt: a text, or messages of which one is a user's and another may be a system's. @default prompt */
  prompt?: string | undefined
  /** Field that the verifier is given as the truth; of several, an object of them. @default answer */
  truth?: string | readonly string[] | undefined
  /** Field of a response to imitate, which supervised stages need. */
  response?: string | undefined
  verifier: string
  /** Tokens of a response at most. @default that of the longest response */
  maxResponseTokens?: number | undefined
  /** What becomes of a row that has no such fields. @default refuse */
  badRows?: 'refuse' | 'skip' | undefined
}

export interface FileTask extends Task {
  /** `file:line: why` of the rows that were skipped. */
  readonly skipped: readonly string[]
}

/** Faults that a message names; further ones are counted. */
const shown = 5
/** One prompt in so many is held out. */
const heldOutOneIn = 8

interface Loaded extends Item {
  response: string | undefined
}

/**
 * A task of rows in a file. A prompt that stands there several times is on one side of the split.
 *
 * @param lengthOf tokens of a text; throws where it cannot be encoded
 * @throws CascadeError CONFIG_INVALID naming file and line: a row without the fields, a text outside the alphabet, a prompt both to train
 *   and to evaluate on, too few rows
 */
export async function openFileTask(
  spec: FileTaskSpec,
  lengthOf: (text: string) => number,
): Promise<FileTask> {
  const { name, path, domain = name, badRows = 'refuse', verifier } = spec
  const faults: string[] = []
  const longest = { prompt: 0, response: 0 }
  const load = async (file: string, prefix: string): Promise<Loaded[]> => {
    const items: Loaded[] = []
    for await (const line of readRows(file)) {
      const item = 'row' in line ? itemOf(line.row, spec, `${prefix}/${line.line}`) : line.fault
      const fault = typeof item === 'string' ? item : measured(item, longest, lengthOf)
      if (fault !== undefined) faults.push(`${file}:${line.line}: ${fault}`)
      else items.push(item as Loaded)
    }
    return items
  }
  const rows = await load(path, name)
  const isHeldOut = (item: Item) => hash(name, 'split', item.prompt) % heldOutOneIn === 0
  const training = spec.heldOut === undefined ? rows.filter((item) => !isHeldOut(item)) : rows
  const apart = spec.heldOut === undefined ? undefined : await load(spec.heldOut, `${name}/held-out`)
  const evaluated = distinct(apart ?? rows.filter(isHeldOut))
  if (badRows === 'refuse' && faults.length > 0) throw refused(faults)
  if (spec.heldOut !== undefined) refuseCommon(spec.heldOut, path, training, evaluated)
  if (training.length === 0) throw invalid(`${path}: expected rows to train on, got none`)
  const longestResponse = spec.maxResponseTokens ?? longest.response
  if (longestResponse === 0) {
    throw invalid(`tasks.${name}.maxResponseTokens: expected a number where rows have no responses, got none`)
  }
  const responses = new Map(training.map((item) => [item.id, item.response]))
  return {
    name,
    domain,
    verifier,
    maxPromptTokens: longest.prompt,
    maxResponseTokens: longestResponse,
    skipped: faults,
    train: () => ({
      size: training.length,
      item(index) {
        checkIndex(index, training.length)
        return training[index]!
      },
    }),
    heldOut(seed, n) {
      if (n > evaluated.length) throw new RangeError(`task ${name}: has ${evaluated.length} held-out prompts`)
      return evaluated.toSorted((a, b) => hash(seed, a.id) - hash(seed, b.id)).slice(0, n)
    },
    demonstration(item) {
      const response = responses.get(item.id)
      if (response !== undefined) return response
      throw invalid(`tasks.${name}.response: expected a field of responses for a supervised stage, got none`)
    },
  }
}

function itemOf(row: Row, spec: FileTaskSpec, id: string): Loaded | string {
  const { prompt: promptField = 'prompt', truth: truthField = 'answer', response: responseField } = spec
  const prompt = promptOf(row[promptField])
  if (prompt === undefined) {
    return `${promptField}: expected a text, or messages with one of a user, got ${brief(row[promptField])}`
  }
  const fields = typeof truthField === 'string' ? [truthField] : truthField
  const missing = fields.find((field) => row[field] === undefined)
  if (missing !== undefined) return `${missing}: expected the truth for the verifier, got none`
  const groundTruth =
    typeof truthField === 'string' ? row[truthField] : Object.fromEntries(fields.map((f) => [f, row[f]]))
  const response = responseField === undefined ? undefined : row[responseField]
  if (responseField !== undefined && typeof response !== 'string') {
    return `${responseField}: expected a text, got ${brief(response)}`
  }
  return { id, prompt, groundTruth, response: response as string | undefined }
}

/** A text, or a user's message behind a system's. */
function promptOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (!Array.isArray(value)) return undefined
  const messages = value as ({ role?: unknown; content?: unknown } | null)[]
  const roles = messages.map((m) => m?.role).join()
  if (roles !== 'user' && roles !== 'system,user') return undefined
  const texts = messages.map((m) => m?.content)
  return texts.every((t) => typeof t === 'string') ? texts.join('\n') : undefined
}

/** Widens what is longest so far. The fault where a text cannot be encoded. */
function measured(
  item: Loaded,
  longest: { prompt: number; response: number },
  lengthOf: (text: string) => number,
): string | undefined {
  try {
    const prompt = lengthOf(item.prompt)
    const response = item.response === undefined ? 0 : lengthOf(item.response)
    longest.prompt = Math.max(longest.prompt, prompt)
    longest.response = Math.max(longest.response, response)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function distinct(items: readonly Loaded[]): Loaded[] {
  return [...new Map(items.toReversed().map((item) => [item.prompt, item])).values()].reverse()
}

function refuseCommon(
  heldOut: string,
  path: string,
  training: readonly Item[],
  evaluated: readonly Item[],
): void {
  const trained = new Set(training.map((item) => item.prompt))
  const common = evaluated.filter((item) => trained.has(item.prompt))
  if (common.length === 0) return
  const [first] = common
  throw invalid(
    `${heldOut}: expected prompts that ${path} does not have, got ${common.length} that it has, the first in line ${first!.id.split('/').at(-1)}`,
  )
}

function refused(faults: readonly string[]): CascadeError {
  const more = faults.length > shown ? `; and ${faults.length - shown} more` : ''
  return invalid(`${faults.slice(0, shown).join('; ')}${more}`)
}

function invalid(message: string): CascadeError {
  return new CascadeError('CONFIG_INVALID', message)
}

function brief(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value).slice(0, 60)
}
