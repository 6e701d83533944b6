import { z } from 'zod'
import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import { badTruth, type RuleVerifier, ruleVerifier, type Samples } from '../judge.ts'
import { applyEdits, changedPaths, type Files } from './apply-edits.ts'
import { changesOf, compareChanges, type FileChange, type FileSimilarity } from './compare.ts'
import { findEdits, MalformedPatch } from './find-edits.ts'

export const patchTruth = z.strictObject({
  /** The files before the change, by path. */
  context: z.record(z.string(), z.string()),
  /** The right change, in any form that a response may have. */
  reference: z.string(),
})

export const patchCase = patchTruth.extend({
  id: z.string(),
  response: z.string(),
  /** The task, as text or as messages, for a judge to read. */
  prompt: z.unknown().optional(),
})
export type PatchCase = z.infer<typeof patchCase>

export const patchOptions = z.strictObject({
  /** The score of a response without a patch that can be read and fits its files. */
  formatPenalty: z.number().default(-1),
  /** Lines of context in a hunk that may differ. */
  fuzz: z.int().min(0).max(3).default(0),
  unit: z.enum(['characters', 'lines']).default('characters'),
  autojunk: z.boolean().default(false),
  /** What scores a patch that is not the reference itself, instead of lexical similarity. */
  semantic: z.enum(['embedding', 'judge']).optional(),
  /** Responses of more edits are malformed: each rewrites a file. */
  maxEdits: z.int().min(1).default(500),
  /** Longer responses are malformed. */
  maxResponse: z.int().min(1).default(1_000_000),
})
export type PatchOptions = z.input<typeof patchOptions>

/**
 * The execution-free reward of a code change (arXiv 2512.13607, section 4.7): 1 where the files end up as the reference leaves
 * them, 0 where nothing changes, `formatPenalty` where the patch cannot be read or applied, and else the mean likeness of the changed
 * files' diffs (arXiv 2502.18449). A response without any patch is unparsable. `detail.case` says which.
 */
export function patch(given: PatchOptions = {}): RuleVerifier {
  const options = checkedOptions(given)
  const files = [
    'patch.ts',
    'find-edits.ts',
    'apply-edits.ts',
    'compare.ts',
    'similarity.ts',
    'suffix-automaton.ts',
  ]
  return ruleVerifier({
    name: 'patch',
    version: '1',
    sources: files.map((file) => new URL(file.replace(/\.ts$/, extension), import.meta.url).href),
    options,
    samples,
    judge: (text, groundTruth) => examine(text, groundTruth, options).verdict,
  })
}

/** What {@link patch} finds in a response; `changes` where the files end up neither as before nor as the reference leaves them. */
export interface Examined {
  readonly verdict: Verdict
  readonly changes?: readonly FileChange[]
  readonly files?: readonly FileSimilarity[]
}

const edit = (from: string, to: string) => `a.txt\n<<<<<<< SEARCH\n${from}\n=======\n${to}\n>>>>>>> REPLACE\n`
const truth = { context: { 'a.txt': 'one\ntwo\n' }, reference: edit('two', 'three') }
const samples: Samples = {
  good: [{ response: edit('two', 'three'), truth }],
  bad: [
    { response: edit('none', 'three'), truth },
    { response: 'no patch', truth },
  ],
}

/** Sources carry the name that this file has: `.ts` here, `.js` in the built package. */
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** @throws CascadeError CONFIG_INVALID naming the option */
export function checkedOptions(given: PatchOptions): z.infer<typeof patchOptions> {
  const parsed = patchOptions.safeParse(given)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new CascadeError('CONFIG_INVALID', `patch: ${path.join('.') || 'options'}: ${message}`)
  }
  if (parsed.data.semantic) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `patch: semantic: expected none (lexical similarity), got ${parsed.data.semantic}, for which no model is configured (embeddedPatch takes an embedding model, judgedPatch a judge)`,
    )
  }
  return parsed.data
}

/** @throws what only a fault of this code throws */
export function examine(text: string, groundTruth: unknown, options: z.infer<typeof patchOptions>): Examined {
  const truth = patchTruth.safeParse(groundTruth)
  if (!truth.success) {
    const { path, message } = truth.error.issues[0]!
    return { verdict: badTruth('patch', `${path.join('.') || '(value)'}: ${message}`) }
  }
  const context: Files = new Map(Object.entries(truth.data.context))
  const reference = referenceFiles(context, truth.data.reference)
  if (typeof reference === 'string') return { verdict: badTruth('patch', `reference: ${reference}`) }
  const { formatPenalty, fuzz, unit, autojunk, maxEdits, maxResponse } = options
  const malformed = (reason: string, message: string): Examined => ({
    verdict: { outcome: 'score', score: formatPenalty, detail: { case: 'malformed', reason, message } },
  })
  if (text.length > maxResponse) {
    return malformed('too-long', `expected at most ${maxResponse} characters, got ${text.length}`)
  }
  let predicted: Files
  try {
    const edits = findEdits(text)
    if (edits.length === 0) {
      return { verdict: { outcome: 'unparsable', score: formatPenalty, detail: { case: 'no-patch' } } }
    }
    if (edits.length > maxEdits) {
      return malformed('too-many', `expected at most ${maxEdits} edits, got ${edits.length}`)
    }
    predicted = applyEdits(context, edits, fuzz)
  } catch (error) {
    if (error instanceof MalformedPatch) return malformed(error.reason, error.message)
    throw error
  }
  if (changedPaths(context, predicted).length === 0) {
    return { verdict: { outcome: 'score', score: 0, detail: { case: 'unchanged' } } }
  }
  const changes = changesOf(context, predicted, reference)
  const files = compareChanges(changes, { unit, autojunk })
  if (files.every((file) => file.ratio === 1)) {
    return { verdict: { outcome: 'score', score: 1, detail: { case: 'exact', files } } }
  }
  const mean = files.reduce((sum, file) => sum + file.ratio, 0) / files.length
  return {
    verdict: { outcome: 'score', score: mean, detail: { case: 'similar', files } },
    changes,
    files,
  }
}

/** The files as the reference leaves them, or what is wrong with it. */
function referenceFiles(context: Files, reference: string): Files | string {
  try {
    const edits = findEdits(reference)
    if (edits.length === 0) return 'expected a unified diff or SEARCH/REPLACE blocks, got neither'
    const files = applyEdits(context, edits)
    return changedPaths(context, files).length === 0 ? 'expected a change, got none' : files
  } catch (error) {
    if (error instanceof MalformedPatch) return error.message
    throw error
  }
}
