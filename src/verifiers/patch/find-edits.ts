import { parsePatch, type StructuredPatch } from 'diff'

/** One change of one file, as a response states it. */
export type Edit =
  | { readonly kind: 'replace'; readonly path: string; readonly search: string[]; readonly replace: string[] }
  | { readonly kind: 'diff'; readonly patch: StructuredPatch }

/** A patch that cannot be read or does not fit its files: the fault of the text. */
export class MalformedPatch extends Error {
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * The edits of a response in their order: SEARCH/REPLACE blocks and unified diffs, in fences or bare. What stands in `<think>` is no
 * answer, and where there is a `<solution>` only that is one. @throws MalformedPatch
 */
export function findEdits(response: string): Edit[] {
  const lines = answerOf(response).split(/\r?\n/)
  const edits: Edit[] = []
  for (let at = 0; at < lines.length; ) {
    const opening = /^(<{5,9}) ?SEARCH\s*$/.exec(lines[at]!)
    if (opening) {
      const previous = edits.at(-1)
      const block = readBlock(lines, at, previous?.kind === 'replace' ? previous.path : undefined)
      edits.push(block.edit)
      at = block.end
    } else if (isDiffStart(lines, at)) {
      const end = diffEnd(lines, at)
      edits.push(...readDiff(lines.slice(at, end), at + 1))
      at = end
    } else {
      at += 1
    }
  }
  if (edits.length === 0 && /^```(diff|patch)\s*$/m.test(response)) {
    throw new MalformedPatch('no-header', 'a diff fence without file headers')
  }
  return edits
}

function answerOf(response: string): string {
  const close = response.lastIndexOf('</think>')
  const answer = close < 0 ? response : response.slice(close + '</think>'.length)
  const start = answer.lastIndexOf('<solution>')
  if (start < 0) return answer
  const end = answer.indexOf('</solution>', start)
  return answer.slice(start + '<solution>'.length, end < 0 ? undefined : end)
}

function readBlock(lines: string[], at: number, previous: string | undefined): { edit: Edit; end: number } {
  const path = pathAbove(lines, at) ?? previous
  if (path === undefined) {
    throw new MalformedPatch('no-path', `line ${at + 1}: a SEARCH block without a file's path above it`)
  }
  const divider = scan(lines, at + 1, /^={5,9}\s*$/)
  const close = divider === undefined ? undefined : scan(lines, divider + 1, /^>{5,9} ?REPLACE\s*$/)
  if (divider === undefined || close === undefined) {
    throw new MalformedPatch(
      'unterminated',
      `line ${at + 1}: a SEARCH block without ${divider === undefined ? '=======' : '>>>>>>> REPLACE'}`,
    )
  }
  const edit: Edit = {
    kind: 'replace',
    path,
    search: lines.slice(at + 1, divider),
    replace: lines.slice(divider + 1, close),
  }
  return { edit, end: close + 1 }
}

/** The first line that is `wanted` before another block opens. */
function scan(lines: string[], from: number, wanted: RegExp): number | undefined {
  for (let at = from; at < lines.length; at++) {
    if (wanted.test(lines[at]!)) return at
    if (/^<{5,9} ?SEARCH\s*$/.test(lines[at]!)) return undefined
  }
  return undefined
}

/** The path in the line before a block, in its fence's line, or before its fence. */
function pathAbove(lines: string[], at: number): string | undefined {
  for (let line = at - 1; line >= Math.max(0, at - 3); line--) {
    const fence = /^\s*(?:```|~~~|<\w+>)\s*(.*)$/.exec(lines[line]!)
    const path = asPath(fence ? fence[1]!.split(/\s+/).at(-1)! : lines[line]!, fence !== null)
    if (path !== undefined) return path
    if (!fence && lines[line]!.trim() !== '') return undefined
  }
  return undefined
}

/** A line as a path, without what Markdown puts around one; prose and languages of fences are none. */
function asPath(line: string, inFence: boolean): string | undefined {
  const bare = line
    .trim()
    .replace(/^#+\s*/, '')
    .replace(/^\*\*|\*\*:?$/g, '')
    .replace(/:$/, '')
    .replace(/^`|`$/g, '')
    .trim()
  if (bare === '' || /\s/.test(bare) || bare.length > 1024) return undefined
  if (/^[<>=]{5,9}/.test(bare)) return undefined
  return inFence && !/[./]/.test(bare) ? undefined : bare.replace(/^\.\//, '')
}

const header =
  /^(diff --git |index [0-9a-f]+\.\.|new file mode |deleted file mode |old mode |new mode |similarity index |dissimilarity index |rename (from|to) |copy (from|to) |Binary files |--- |\+\+\+ )/

function isDiffStart(lines: string[], at: number): boolean {
  const line = lines[at]!
  return line.startsWith('diff --git ') || (line.startsWith('--- ') && !!lines[at + 1]?.startsWith('+++ '))
}

/**
 * Where a diff's lines end. A hunk is as long as its header says, so that an empty line inside counts as context; what follows at once and
 * looks like a hunk's line belongs to it, and the parser then says that the header is wrong.
 */
function diffEnd(lines: string[], from: number): number {
  let [removed, added] = [0, 0]
  let end = from
  let at = from
  for (; at < lines.length; at++) {
    const line = lines[at]!
    const inside = removed > 0 || added > 0
    const counts = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (inside && /^[ +-]|^$/.test(line)) {
      if (!line.startsWith('+')) removed -= 1
      if (!line.startsWith('-')) added -= 1
    } else if (counts) {
      removed = Number(counts[1] ?? 1)
      added = Number(counts[2] ?? 1)
    } else if (line === '') {
      continue
    } else if (!(header.test(line) || line.startsWith('@@') || (end === at && /^[ +\-\\]/.test(line)))) {
      break
    }
    end = at + 1
  }
  return end
}

function readDiff(lines: string[], first: number): Edit[] {
  let patches: StructuredPatch[]
  try {
    patches = parsePatch(`${lines.join('\n')}\n`)
  } catch (error) {
    throw new MalformedPatch('bad-diff', `the diff at line ${first}: ${(error as Error).message}`)
  }
  if (patches.some((patch) => patch.oldFileName === undefined && (patch.isGit || patch.hunks.length > 0))) {
    throw new MalformedPatch('no-path', `the diff at line ${first}: a file whose path cannot be read`)
  }
  const named = patches.filter((patch) => patch.oldFileName !== undefined)
  for (const patch of named) {
    if (patch.isBinary) throw new MalformedPatch('binary', `the diff at line ${first}: a binary file`)
    const moves = patch.isRename || patch.isCopy || patch.isCreate || patch.isDelete || patch.newMode
    if (patch.hunks.length === 0 && !moves) {
      throw new MalformedPatch('no-hunk', `the diff at line ${first}: no hunk for ${patch.newFileName}`)
    }
    if (patch.hunks.some((hunk) => !Number.isFinite(hunk.oldStart))) {
      throw new MalformedPatch('bad-diff', `the diff at line ${first}: a hunk header that is none`)
    }
  }
  return named.map((patch) => ({ kind: 'diff', patch }))
}
