import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type InstructionCase, instructionKind } from '../../../src/verifiers/instruction/index.ts'
import { sharedData } from '../../shared-data.ts'
import { lines, type PublishedPrompt, type PublishedVerdict } from './lines.ts'

/** One instruction of one prompt whose published verdict is no measure, or is not ours. */
interface Difference {
  set: string
  key: number
  index: number
  id: string
  /** `drawn`: the published verdict depends on a random draw; `detector`: on another detector of languages. */
  why: 'drawn' | 'detector'
  /** Where ours differs; a drawn one may differ anywhere. */
  files?: string[]
  reason: string
}

/** One published verdict beside ours. */
interface Compared {
  set: string
  file: string
  key: number
  index: number
  id: string
  same: boolean
}

const differences = readFileSync(new URL('./published-differences.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Difference)

/** Two of IFEval's checkers split text with a trained model: the other 23 have to agree better. */
const split = ['length_constraints:number_sentences', 'change_case:capital_word_frequency']

const files: Record<string, readonly string[]> = {
  ifeval: [
    'verdicts_gpt4_strict.jsonl',
    'verdicts_gpt4_loose.jsonl',
    'verdicts_llama31-8b_strict.jsonl',
    'verdicts_llama31-8b_loose.jsonl',
    'verdicts_qwen25-0.5b_strict.jsonl',
  ],
  ifbench: ['verdicts_sample_strict.jsonl', 'verdicts_sample_loose.jsonl'],
}

const promptsOf = (set: string) => lines<PublishedPrompt & { key: number }>(`${set}/input_data.jsonl`)

async function compareWith(set: string, file: string): Promise<Compared[]> {
  const judge = await instructionKind.open({ jobs: 1, flags: {} })
  const prompts = new Map(promptsOf(set).map((prompt) => [prompt.prompt.trim(), prompt]))
  const compared: Compared[] = []
  for (const row of lines<PublishedVerdict>(`${set}/${file}`)) {
    const asked = prompts.get(row.prompt.trim())!
    const given: InstructionCase = {
      id: row.prompt,
      prompt: row.prompt,
      response: row.response,
      instructions: asked.instruction_id_list.map((id, i) => ({ id, kwargs: asked.kwargs[i] })),
      mode: file.includes('loose') ? 'loose' : 'strict',
    }
    const verdict = await judge.judge(instructionKind.schema.parse(given), new AbortController().signal)
    if (verdict.outcome === 'failed') throw new Error(verdict.message)
    const { followed } = verdict.detail as { followed: boolean[] }
    asked.instruction_id_list.forEach((id, index) => {
      const same = followed[index] === row.follow_instruction_list[index]
      compared.push({ set, file, key: Number(asked.key), index, id, same })
    })
  }
  return compared
}

const listed = (row: Compared, why?: Difference['why']) =>
  differences.find(
    (one) =>
      one.set === row.set &&
      one.key === row.key &&
      one.index === row.index &&
      (one.files === undefined || one.files.includes(row.file)) &&
      (why === undefined || one.why === why),
  )

const shareOf = (rows: readonly Compared[]) => rows.filter((row) => row.same).length / rows.length

/** How many of each kind agree: what the names of the tests below report. */
function byKind(rows: readonly Compared[]): { id: string; agree: number; of: number; rows: Compared[] }[] {
  return [...new Set(rows.map((row) => row.id))].sort().map((id) => {
    const own = rows.filter((row) => row.id === id)
    return { id, agree: own.filter((row) => row.same).length, of: own.length, rows: own }
  })
}

const isPresent = (set: string) => files[set]!.every((file) => sharedData(`${set}/${file}`) !== undefined)

/** Compared before the tests are named: their names report the counts, kind by kind. */
const comparedOf = async (set: string): Promise<Compared[]> =>
  isPresent(set) ? (await Promise.all(files[set]!.map((file) => compareWith(set, file)))).flat() : []

const all: Record<string, Compared[]> = {
  ifeval: await comparedOf('ifeval'),
  ifbench: await comparedOf('ifbench'),
}

describe.skipIf(!isPresent('ifeval'))('IFEval', () => {
  const rest = all.ifeval!.filter((row) => !split.includes(row.id))
  const measured = rest.filter((row) => !listed(row, 'drawn'))

  test('has 25 kinds, of which 23 agree in 99.8 %, with and without what was drawn', () => {
    expect(byKind(all.ifeval!)).toHaveLength(25)
    expect(shareOf(rest)).toBeGreaterThanOrEqual(0.998)
    expect(shareOf(measured)).toBeGreaterThanOrEqual(0.998)
  })

  test.each(files.ifeval!)('so they do in %s alone, without what was drawn', (file) => {
    expect(shareOf(measured.filter((row) => row.file === file))).toBeGreaterThanOrEqual(0.998)
  })

  test.each(split)('%s agrees in 96 % of each file', (id) => {
    for (const file of files.ifeval!) {
      const own = all.ifeval!.filter((row) => row.id === id && row.file === file)
      expect(shareOf(own)).toBeGreaterThanOrEqual(0.96)
    }
  })
})

describe.skipIf(!isPresent('ifbench'))('IFBench', () => {
  test.each(files.ifbench!)('agrees in 98 of 100 of %s', (file) => {
    const own = all.ifbench!.filter((row) => row.file === file)
    expect(byKind(own).length).toBeGreaterThan(30)
    expect(shareOf(own)).toBeGreaterThanOrEqual(0.98)
  })
})

describe.each(Object.keys(files))('%s', (set) => {
  const rows = all[set]!

  for (const { id, agree, of, rows: own } of byKind(rows)) {
    test(`${id}: ${agree} of ${of}`, () => {
      // What differs is on the list, with the reason; nothing else may.
      expect(own.filter((row) => !row.same && !listed(row))).toEqual([])
    })
  }

  test.skipIf(!isPresent(set))('what the list names is there, and differs where it says so', () => {
    for (const one of differences.filter((difference) => difference.set === set)) {
      const named = rows.filter((row) => listed(row) === one)
      expect(named.map((row) => row.id)).toEqual(Array((one.files ?? files[set]!).length).fill(one.id))
      if (one.why === 'detector') expect(named.map((row) => row.same)).not.toContain(true)
    }
  })

  test.skipIf(!isPresent(set))('what depends on a draw is what asks for a letter that is none', () => {
    const none = promptsOf(set).flatMap(({ key, instruction_id_list, kwargs }) =>
      kwargs.flatMap(({ letter }, i) =>
        typeof letter === 'string' && !/^[a-z]$/i.test(letter)
          ? [[Number(key), i, instruction_id_list[i]]]
          : [],
      ),
    )
    const drawn = differences.filter((one) => one.set === set && one.why === 'drawn')
    expect(drawn.map(({ key, index, id }) => [key, index, id]).sort()).toEqual(none.sort())
  })
})
