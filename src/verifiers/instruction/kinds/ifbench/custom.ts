import { type Kinds, kind } from '../../kind.ts'
import { csvRows, csvValue, isQuoted } from '../../text/csv.ts'
import { sentences } from '../../text/sentences.ts'
import { marksAndBlank, plainWords, strip, stripStart } from '../../text/words.ts'

const ascii = (text: string): string => text.normalize('NFKD').replace(/[^\0-\x7f]/g, '')

/** Capitals north of 45 degrees, from north to south. */
const capitals =
  `Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw
  London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb`.split(
    /\s+/,
  )

/** Four questions of five options each, every one longer than the one before, nothing ahead of them. */
function multipleChoice(text: string): boolean {
  if (!text.startsWith('Question')) return false
  const questions = text
    .split(/Question \d+[.|):;]?/)
    .map((question) => question.trim())
    .filter((question) => question !== '')
  if (questions.length !== 4) return false
  const lengths = questions.map((question) => {
    const lines = question.split('\n').map((line) => line.trim())
    const isOption = (line: string): boolean => /^[A-Ea-e][.|)]\s*[\p{L}\p{N}_]/u.test(line)
    const first = lines.findIndex(isOption)
    return lines.filter(isOption).length === 5 ? lines.slice(0, first).join(' ').trim().length : Number.NaN
  })
  return lengths.every((length, i) => (i === 0 ? !Number.isNaN(length) : length > lengths[i - 1]!))
}

/** From Zimbabwe on, a country a line, at least 52, in reverse order. */
function countriesReversed(text: string): boolean {
  const lines = text
    .split('\n')
    .map((line) => strip(line, marksAndBlank))
    .filter((line) => line !== '')
  const from = lines.findIndex((line) => line.includes('Zimbabwe'))
  const listed = lines.slice(from).map(ascii)
  return from >= 0 && listed.length >= 52 && listed.every((line, i) => i === 0 || line <= listed[i - 1]!)
}

function wordsReversed(text: string): boolean {
  const forward = plainWords(text).reverse().join(' ')
  return forward.includes('bald eagle') && sentences(forward)[0] === forward
}

function sentenceAlphabet(text: string): boolean {
  const parts = sentences(text)
  const letters = parts.map((part) => stripStart(part, marksAndBlank)[0]?.toLowerCase()).join('')
  return parts.length === 26 && letters === 'abcdefghijklmnopqrstuvwxyz'
}

const header = (row: readonly string[] | undefined, names: readonly string[]): boolean =>
  row?.length === names.length && row.every((field, i) => csvValue(field.trim()) === names[i])

const cityColumns = ['ID', 'Country', 'City', 'Year', 'Count']
const productColumns = ['ProductID', 'Category', 'Brand', 'Price', 'Stock']
const studentColumns = ['StudentID', 'Subject', 'Grade', 'Semester', 'Score']

function table(
  text: string,
  delimiter: string,
  columns: readonly string[],
  rows: number,
): string[][] | undefined {
  const all = csvRows(text, delimiter, rows + 1)
  const fits =
    all?.length === rows + 1 && header(all[0], columns) && all.every((row) => row.length === columns.length)
  return fits ? all : undefined
}

const days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** A date of Napoleon's lifetime as YYYY-MM-DD. */
function isDate(text: string): boolean {
  const [, year, month, day] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined || day === undefined) return false
  return year >= 1769 && year <= 1821 && day >= 1 && day <= (days[month - 1] ?? 0)
}

export const custom: Kinds = {
  'custom:multiples': kind({}, (text) => (text.match(/\p{Nd}+/gu) ?? []).join(' ') === '14 21 28 35 42 49'),
  'custom:mcq_count_length': kind({}, multipleChoice),
  'custom:reverse_newline': kind({}, countriesReversed),
  'custom:word_reverse': kind({}, wordsReversed),
  'custom:character_reverse': kind({}, (text) => text.toLowerCase().includes('elgae dlab')),
  'custom:sentence_alphabet': kind({}, sentenceAlphabet),
  'custom:european_capitals_sort': kind({}, (text) => {
    const listed = ascii(text)
      .split(',')
      .map((city) => city.trim())
      .filter((city) => city !== '')
    return listed.join() === capitals.join()
  }),
  'custom:csv_city': kind({}, (text) => table(text, ',', cityColumns, 7) !== undefined),
  'custom:csv_special_character': kind(
    {},
    (text) =>
      table(text, ',', productColumns, 14)
        ?.slice(1)
        .some((row) =>
          row.some((field) => isQuoted(field.trim()) && /[^\p{L}\p{N}_\s]/u.test(csvValue(field.trim()))),
        ) ?? false,
  ),
  'custom:csv_quotes': kind(
    {},
    (text) =>
      table(text, '\t', studentColumns, 3)?.every((row) => row.every((field) => isQuoted(field.trim()))) ??
      false,
  ),
  'custom:date_format_list': kind({}, (text) => text.split(',').every((date) => isDate(date.trim()))),
}
