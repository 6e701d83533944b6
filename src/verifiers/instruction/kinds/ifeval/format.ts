import { count, type Kinds, kind, phrase } from '../../kind.ts'

const answers = ['My answer is yes.', 'My answer is no.', 'My answer is maybe.']

/** Lines that begin with `*`, though not with two of them, or with `-`; a lone `*` takes the line below as its text. */
function bullets(text: string): number {
  const lines = text.split('\n').map((line) => line.trimStart())
  let found = 0
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const lone = line === '*' && i + 1 < lines.length
    if (lone || line.startsWith('-') || (line.startsWith('*') && line.length > 1 && line[1] !== '*')) found++
    if (lone) i++
  }
  return found
}

/** `*...*` on one line and once more `**...**`, each holding more than spaces. */
function highlights(text: string): number {
  const single = (text.match(/\*[^\n*]*\*/g) ?? []).filter((part) => part.replaceAll('*', '').trim() !== '')
  const double = (text.match(/\*\*[^\n*]*\*\*/g) ?? []).filter((part) => part.slice(2, -2).trim() !== '')
  return single.length + double.length
}

/** A line with `<<`, words and `>>`. */
function titled(line: string): boolean {
  const from = line.indexOf('<<')
  const to = line.lastIndexOf('>>')
  return from >= 0 && to > from + 2 && /[^<>\s]/.test(line.slice(from, to))
}

function isJson(text: string): boolean {
  const fenced = text
    .trim()
    .replace(/^```(?:json|Json|JSON)?/, '')
    .replace(/```$/, '')
  try {
    JSON.parse(fenced)
    return true
  } catch {
    return false
  }
}

/** How often the marker and a number stand in the text. */
function sections(text: string, marker: string): number {
  const pieces = text.split(marker.trim()).slice(1)
  return pieces.filter((piece) => /^\s?\p{Nd}/u.test(piece)).length
}

export const format: Kinds = {
  'detectable_format:number_bullet_lists': kind(
    { num_bullets: count },
    (text, asked) => bullets(text) === asked.num_bullets,
  ),
  'detectable_format:number_highlighted_sections': kind(
    { num_highlights: count },
    (text, asked) => highlights(text) >= asked.num_highlights,
  ),
  'detectable_format:multiple_sections': kind(
    { section_spliter: phrase, num_sections: count },
    (text, asked) => sections(text, asked.section_spliter) >= asked.num_sections,
  ),
  'detectable_format:title': kind({}, (text) => text.split('\n').some(titled)),
  'detectable_format:json_format': kind({}, isJson),
  'detectable_format:constrained_response': kind({}, (text) =>
    answers.some((answer) => text.includes(answer)),
  ),
}
