import { createTwoFilesPatch } from 'diff'
import { changedPaths, type Files } from './apply-edits.ts'
import { ratio, ratioWithin, type SimilarityOptions } from './similarity.ts'

/** Lines added and removed beyond which the shortest diff is not looked for: its search takes quadratic time. */
const maxEditLength = 2000

/** About a second. */
const maxWork = 1e7

/** Only equal contents are a match: diffs can agree where a deleted file and an emptied one do not. */
export const belowOne = 1 - Number.EPSILON

export interface FileSimilarity {
  readonly path: string
  readonly ratio: number
  /** Set where comparing characters would have taken too long. */
  readonly unit?: 'lines'
}

/** A file that either side changes. */
export interface FileChange {
  readonly path: string
  /** The unified diffs of both sides, without headers, where both change it and end up with different contents. */
  readonly diffs?: readonly [predicted: string, reference: string]
  /** Where there are none: whether both leave the file the same. */
  readonly same?: boolean
}

/** Each file that either side changes, in the order of paths. */
export function changesOf(context: Files, predicted: Files, reference: Files): FileChange[] {
  const ours = new Set(changedPaths(context, predicted))
  const theirs = new Set(changedPaths(context, reference))
  const paths = [...new Set([...ours, ...theirs])].sort()
  return paths.map((path) => {
    if (!ours.has(path) || !theirs.has(path)) return { path, same: false }
    const before = context.get(path) ?? ''
    const [a, b] = [predicted.get(path), reference.get(path)]
    return a === b ? { path, same: true } : { path, diffs: [hunks(before, a ?? ''), hunks(before, b ?? '')] }
  })
}

/**
 * How alike the two unified diffs of each file are (three lines of context, without headers): a file that only one side changes counts 0.
 * Characters give way to lines where they take more than the allowed work.
 */
export function compareChanges(changes: readonly FileChange[], options: SimilarityOptions): FileSimilarity[] {
  return changes.map(({ path, diffs, same }) => {
    if (!diffs) return { path, ratio: same ? 1 : 0 }
    const alike = ratioWithin(...diffs, { maxWork, ...options })
    if (alike !== undefined) return { path, ratio: Math.min(alike, belowOne) }
    return { path, ratio: Math.min(ratio(...diffs, { ...options, unit: 'lines' }), belowOne), unit: 'lines' }
  })
}

function hunks(before: string, after: string): string {
  const diff = createTwoFilesPatch('', '', before, after, '', '', { context: 3, maxEditLength })
  const start = diff?.indexOf('@@') ?? -1
  return diff === undefined ? wholesale(before, after) : start < 0 ? '' : diff.slice(start)
}

/** One hunk from the first line that differs to the last. */
function wholesale(before: string, after: string): string {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1
  let tail = 0
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1
  const cut = (lines: string[], sign: string) =>
    lines.slice(head, lines.length - tail).map((line) => sign + line)
  return [`@@ -${head + 1} +${head + 1} @@`, ...cut(a, '-'), ...cut(b, '+'), ''].join('\n')
}
