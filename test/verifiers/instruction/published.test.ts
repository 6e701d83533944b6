import { describe, expect, it } from 'vitest'
import { type InstructionCase, instructionKind } from '../../../src/verifiers/instruction/index.ts'
import { sharedData } from '../../shared-data.ts'
import { lines, type PublishedPrompt, type PublishedVerdict } from './lines.ts'

/** Two of IFEval's checkers split sentences with a trained model: the rest has to agree better. */
const split = new Set(['length_constraints:number_sentences', 'change_case:capital_word_frequency'])

const files = [
  'ifeval/verdicts_gpt4_strict.jsonl',
  'ifeval/verdicts_gpt4_loose.jsonl',
  'ifeval/verdicts_llama31-8b_strict.jsonl',
  'ifeval/verdicts_llama31-8b_loose.jsonl',
  'ifeval/verdicts_qwen25-0.5b_strict.jsonl',
  'ifbench/verdicts_sample_strict.jsonl',
  'ifbench/verdicts_sample_loose.jsonl',
]

interface Tally {
  agree: number
  of: number
}

type Table = Map<string, Tally>

/** Of each instruction, how many published verdicts ours equals. */
async function compareWith(path: string): Promise<Table> {
  const judge = await instructionKind.open({ jobs: 1, flags: {} })
  const prompts = new Map<string, PublishedPrompt>()
  for (const prompt of lines<PublishedPrompt>(`${path.split('/')[0]}/input_data.jsonl`)) {
    prompts.set(prompt.prompt.trim(), prompt)
  }
  const table: Table = new Map()
  for (const row of lines<PublishedVerdict>(path)) {
    const asked = prompts.get(row.prompt.trim())!
    const given: InstructionCase = {
      id: row.prompt,
      prompt: row.prompt,
      response: row.response,
      instructions: asked.instruction_id_list.map((id, i) => ({ id, kwargs: asked.kwargs[i] })),
      mode: path.includes('loose') ? 'loose' : 'strict',
    }
    const verdict = await judge.judge(instructionKind.schema.parse(given), new AbortController().signal)
    if (verdict.outcome === 'failed') throw new Error(verdict.message)
    const { followed } = verdict.detail as { followed: boolean[] }
    asked.instruction_id_list.forEach((id, i) => {
      const tally = table.get(id) ?? { agree: 0, of: 0 }
      if (isDrawn(asked.kwargs[i]!)) return
      tally.of++
      if (followed[i] === row.follow_instruction_list[i]) tally.agree++
      table.set(id, tally)
    })
  }
  return table
}

/** Where the letter to count is none, the published checker draws one at random: its verdict means nothing. */
function isDrawn({ letter }: Record<string, unknown>): boolean {
  return typeof letter === 'string' && !/^[a-z]$/i.test(letter)
}

function share(table: Table, of: (id: string) => boolean): number {
  const chosen = [...table].filter(([id]) => of(id)).map(([, tally]) => tally)
  const sum = (what: keyof Tally): number => chosen.reduce((total, tally) => total + tally[what], 0)
  return sum('agree') / sum('of')
}

const shown = (table: Table): string =>
  [...table]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { agree, of }]) => `${agree === of ? ' ' : '!'} ${id.padEnd(48)} ${agree}/${of}`)
    .join('\n')

describe.each(files)('%s', (path) => {
  it.skipIf(!sharedData(path))('agrees with ours', async () => {
    const table = await compareWith(path)
    if (path.startsWith('ifbench')) {
      expect(table.size).toBeGreaterThan(30)
      expect(
        share(table, () => true),
        shown(table),
      ).toBeGreaterThanOrEqual(0.98)
      return
    }
    expect(table.size).toBe(25)
    expect(
      share(table, (id) => !split.has(id)),
      shown(table),
    ).toBeGreaterThanOrEqual(0.998)
    for (const id of split)
      expect(
        share(table, (one) => one === id),
        shown(table),
      ).toBeGreaterThanOrEqual(0.96)
  })
})
