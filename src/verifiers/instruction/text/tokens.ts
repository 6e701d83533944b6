import { sentences } from './sentences.ts'

const piece =
  /\.{2,}|--|[?!;@#$%&*()[\]{}<>"“”«»„‘’`]|[:,](?!\d)|(?:(?!\.{2,}|--)[^?!;@#$%&*()[\]{}<>"“”«»„‘’`:,]|[:,](?=\d))+/g
const contraction = /^(.+?)(n't|'(?:s|m|d|ll|re|ve))$/i
const closers = new Set(')]}>"\'”’»')

/**
 * Words and marks the way the Penn Treebank cuts them: marks apart, `don't` as `do` and `n't`, the period apart
 * only where it ends a sentence.
 */
export function tokens(text: string): string[] {
  return sentences(text).flatMap(sentenceTokens)
}

/** Tokens that hold a letter or a digit. */
export function wordTokens(text: string): string[] {
  return tokens(text).filter((token) => /[\p{L}\p{N}]/u.test(token))
}

function sentenceTokens(sentence: string): string[] {
  const pieces = sentence.match(/\S+/g)?.flatMap((chunk) => chunk.match(piece) ?? []) ?? []
  let last = pieces.length - 1
  while (last > 0 && closers.has(pieces[last]!)) last--
  return pieces.flatMap((one, i) => parts(one, i === last))
}

function parts(word: string, last: boolean): string[] {
  const stop = last && /[^.]\.$/.test(word) ? ['.'] : []
  let body = word.slice(0, word.length - stop.length)
  const opened = /^'(?!re|ve|ll|m|t|s|d|n)./i.test(body) ? ["'"] : []
  body = body.slice(opened.length)
  const closed = body.length > 1 && body.endsWith("'") ? ["'"] : []
  body = body.slice(0, body.length - closed.length)
  const cut = contraction.exec(body)
  return [...opened, ...(cut ? [cut[1]!, cut[2]!] : [body]), ...closed, ...stop]
}
