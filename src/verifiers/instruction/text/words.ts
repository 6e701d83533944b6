/** Python's `string.punctuation`: the marks of ASCII. */
export const asciiMarks = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
const marks = new Set(asciiMarks)

/** Words as people count them: what stands between spaces. */
export function spaced(text: string): string[] {
  return text.match(/\S+/g) ?? []
}

/** Runs of letters, digits and underscores. Combining marks end a run, as they do in Python's `\w`. */
export function wordRuns(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? []
}

export function withoutMarks(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, '')
}

/** Lower-case words without any ASCII mark. */
export function plainWords(text: string): string[] {
  return spaced(withoutMarks(text.toLowerCase()))
}

/** Removes the given characters from both ends. */
export function strip(text: string, characters: ReadonlySet<string>): string {
  return stripEnd(stripStart(text, characters), characters)
}

export function stripStart(text: string, characters: ReadonlySet<string>): string {
  let from = 0
  while (from < text.length && characters.has(text[from]!)) from++
  return text.slice(from)
}

export function stripEnd(text: string, characters: ReadonlySet<string>): string {
  let to = text.length
  while (to > 0 && characters.has(text[to - 1]!)) to--
  return text.slice(0, to)
}

/** ASCII marks and the blank. */
export const marksAndBlank: ReadonlySet<string> = new Set([...marks, ' '])

/** Every cased letter is upper case, and there is one. */
export function isUpper(text: string): boolean {
  return /\p{Lu}/u.test(text) && !/[\p{Ll}\p{Lt}]/u.test(text)
}

/** Every cased letter is lower case, and there is one. */
export function isLower(text: string): boolean {
  return /\p{Ll}/u.test(text) && !/[\p{Lu}\p{Lt}]/u.test(text)
}

/** How often the words stand in the text, whatever their case, also inside other words. */
export function occurrences(text: string, needle: string): number {
  return count(text, literal(needle), 'giu')
}

/** How often the words stand in the text as whole words. */
export function wholeWords(text: string, needle: string, flags: 'gu' | 'giu' = 'giu'): number {
  const word = '[\\p{L}\\p{N}_]'
  const points = [...needle]
  const edge = (at: string, look: string, lookNot: string): string =>
    /[\p{L}\p{N}_]/u.test(at) ? `(?${lookNot}${word})` : `(?${look}${word})`
  const before = edge(points[0]!, '<=', '<!')
  const behind = edge(points.at(-1)!, '=', '!')
  return count(text, before + literal(needle) + behind, flags)
}

function count(text: string, pattern: string, flags: string): number {
  return text.match(new RegExp(pattern, flags))?.length ?? 0
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
