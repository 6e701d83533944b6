import { applyPatch, type StructuredPatch } from 'diff'
import { type Edit, MalformedPatch } from './find-edits.ts'

export type Files = ReadonlyMap<string, string>

const maxCompared = 2e7

/** Files after all edits, one after the other. @throws MalformedPatch where one does not fit. */
export function applyEdits(context: Files, edits: readonly Edit[], fuzz = 0): Files {
  const files = new Map(context)
  for (const edit of edits) {
    if (edit.kind === 'replace') {
      const path = safe(edit.path)
      files.set(path, replaced(files.get(path), edit, path))
    } else {
      patch(files, edit.patch, fuzz)
    }
  }
  return files
}

/** Paths whose text differs, came or went, in order. */
export function changedPaths(before: Files, after: Files): string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort()
}

/** The first place where all searched lines stand, whole lines only, is replaced. */
function replaced(text: string | undefined, edit: Edit & { kind: 'replace' }, path: string): string {
  const { search, replace } = edit
  if (search.every((line) => line === '')) {
    if (text === undefined || text === '') return replace.map((line) => `${line}\n`).join('')
    throw new MalformedPatch('empty-search', `${path}: an empty SEARCH in a file that has content`)
  }
  if (text === undefined) throw new MalformedPatch('unknown-file', `${path}: no such file`)
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  // An end before the first line and behind the last one: a match is then always between two line ends.
  const framed = `${end}${text}${end}`
  const wanted = `${end}${search.join(end)}${end}`
  const at = framed.indexOf(wanted)
  if (at < 0) throw new MalformedPatch('no-match', `${path}: the lines of SEARCH are not there`)
  const middle = replace.length === 0 ? end : `${end}${replace.join(end)}${end}`
  const result = framed.slice(0, at) + middle + framed.slice(at + wanted.length)
  // The frame may have merged with the only line end that is left.
  return result.length < 2 * end.length ? '' : result.slice(end.length, result.length - end.length)
}

function patch(files: Map<string, string>, change: StructuredPatch, fuzz: number): void {
  const from = sideOf(change.oldFileName!, 'a/')
  const to = sideOf(change.newFileName!, 'b/')
  if (from === undefined && to === undefined) {
    throw new MalformedPatch('no-path', 'a diff from /dev/null to /dev/null')
  }
  const created = from === undefined || change.isCreate
  if (created) {
    if (files.get(to!)) throw new MalformedPatch('file-exists', `${to}: created where a file is`)
    files.set(to!, applied('', change, to!, fuzz))
    return
  }
  const text = files.get(from)
  if (text === undefined) throw new MalformedPatch('unknown-file', `${from}: no such file`)
  const after = applied(text, change, from, fuzz)
  if (to === undefined || change.isDelete) {
    if (after !== '' && change.hunks.length > 0) {
      throw new MalformedPatch('no-match', `${from}: deleted with lines left`)
    }
    files.delete(from)
    return
  }
  if (to !== from) {
    if (files.has(to)) throw new MalformedPatch('file-exists', `${to}: renamed to where a file is`)
    if (!change.isCopy) files.delete(from)
  }
  files.set(to, after)
}

function applied(text: string, change: StructuredPatch, path: string, fuzz: number): string {
  // A hunk is tried at every line: one of many lines that are all alike would take quadratic time.
  let compared = 0
  const compareLine = (_: number, line: string, _operation: string, wanted: string) => {
    compared += 1
    if (compared > maxCompared) {
      throw new MalformedPatch('no-match', `${path}: a hunk fits nowhere in ${maxCompared} comparisons`)
    }
    return line === wanted
  }
  const after = applyPatch(text, change, { fuzzFactor: fuzz, compareLine })
  if (after === false) throw new MalformedPatch('no-match', `${path}: a hunk does not fit the file`)
  return after
}

/** One side of a diff as a path; undefined for /dev/null. */
function sideOf(name: string, prefix: string): string | undefined {
  if (name === '/dev/null') return undefined
  return safe(name.startsWith(prefix) ? name.slice(prefix.length) : name)
}

function safe(path: string): string {
  if (path.startsWith('/') || path.split('/').includes('..')) {
    throw new MalformedPatch('bad-path', `${path}: a path outside the repository`)
  }
  return path.replace(/^\.\//, '')
}
