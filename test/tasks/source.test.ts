import { describe, expect, it } from 'vitest'
import { tokenizer } from '../../src/model/tokenizer/index.ts'
import { createPromptSource } from '../../src/tasks/source.ts'
import { verifiers } from '../../src/verifiers/index.ts'
import type { RlStage, SftStage } from '../../topics/index.ts'
import { stageSpecSchema } from '../../topics/index.ts'

const { decode } = tokenizer

const rl = (task: string, domain = task, name = `rl-${task}`): RlStage =>
  stageSpecSchema.parse({
    kind: 'rl',
    name,
    domain,
    task,
    steps: 1,
    lr: 1e-3,
    prompts: 1,
    groupSize: 2,
    maxTokens: 8,
  }) as RlStage
const sft = (tasks: string[]): SftStage =>
  stageSpecSchema.parse({
    kind: 'sft',
    name: 'sft',
    domain: 'mixed',
    steps: 1,
    lr: 1e-3,
    tasks,
    batch: 4,
  }) as SftStage
const source = (seed = 7) => createPromptSource({ seed, tokenizer })

describe('prompt', () => {
  it('is the same for the same seed, stage and admission, whatever was asked before', () => {
    const [a, b] = [source(), source()]
    const forwards = [0, 1, 2, 70_000].map((n) => a.prompt(rl('math'), n))
    const backwards = [70_000, 2, 1, 0].map((n) => b.prompt(rl('math'), n)).reverse()
    expect(backwards).toEqual(forwards)
  })

  it('goes once through the whole pool an epoch, each time in another order', () => {
    const s = source()
    const size = 65_536
    const epoch = (e: number) =>
      Array.from({ length: 300 }, (_, i) => s.prompt(rl('math'), e * size + i)).map((p) => p.promptId)
    const [first, second] = [epoch(0), epoch(1)]
    expect(new Set(first).size).toBe(300)
    expect(second).not.toEqual(first)
    expect(s.prompt(rl('math'), size - 1)).toMatchObject({ epoch: 0, visit: 0 })
    expect(s.prompt(rl('math'), size)).toMatchObject({ epoch: 1, visit: 1 })
  })

  it('takes another order in another stage and under another seed', () => {
    const ids = (seed: number, stage: RlStage) =>
      Array.from({ length: 20 }, (_, i) => source(seed).prompt(stage, i).promptId)
    const base = ids(7, rl('math'))
    expect(ids(7, rl('math', 'math', 'again'))).not.toEqual(base)
    expect(ids(8, rl('math'))).not.toEqual(base)
  })

  it('encodes the text behind the bos token and names the verifier', () => {
    const p = source().prompt(rl('instruction'), 3)
    expect(p.promptTokens[0]).toBe(tokenizer.bosId)
    expect(decode(p.promptTokens)).toBe(p.promptText)
    expect(p).toMatchObject({ dataset: 'instruction', verifier: 'wording' })
    expect(p.promptTokens.length).toBeLessThanOrEqual(source().limits('instruction').promptTokens)
  })

  it.each([
    [rl('chess'), /stage rl-chess: task: expected one of instruction, math, got chess/],
    [rl('math', 'code'), /stage rl-math: domain: expected math.*got code/],
  ])('refuses a stage that does not fit', (stage, message) => {
    expect(() => source().prompt(stage, 0)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => source().prompt(stage, 0)).toThrow(message)
  })
})

describe('demonstration', () => {
  it('takes the tasks in turn and ends each response with eos alone', () => {
    const s = source()
    const rows = Array.from({ length: 40 }, (_, i) => s.demonstration(sft(['instruction', 'math']), i))
    expect(rows.map((r) => r.domain)).toEqual(rows.map((_, i) => (i % 2 === 0 ? 'instruction' : 'math')))
    for (const row of rows)
      expect(row.responseTokens.indexOf(tokenizer.eosId)).toBe(row.responseTokens.length - 1)
    expect(new Set(rows.map((r) => r.promptId)).size).toBe(40)
  })

  it('gives a task that is listed twice two turns, and no item twice', () => {
    const s = source()
    const rows = Array.from({ length: 60 }, (_, i) =>
      s.demonstration(sft(['math', 'instruction', 'math']), i),
    )
    expect(rows.filter((r) => r.domain === 'math')).toHaveLength(40)
    expect(new Set(rows.map((r) => r.promptId)).size).toBe(60)
  })

  it('shows the same prompt again with another annotator in a later epoch', () => {
    const s = source()
    const stage = sft(['math'])
    const byPrompt = new Map(
      Array.from({ length: 65_536 }, (_, i) => s.prompt(rl('math', 'math', 'sft'), i)).map((p, i) => [
        p.promptId,
        i,
      ]),
    )
    const again = Array.from({ length: 60 }, (_, i) => s.demonstration(stage, 65_536 + i))
    const before = again.map((r) => s.demonstration(stage, byPrompt.get(r.promptId)!))
    expect(before.map((r) => r.promptId)).toEqual(again.map((r) => r.promptId))
    expect(before.map((r) => decode(r.responseTokens))).not.toEqual(
      again.map((r) => decode(r.responseTokens)),
    )
  })
})

describe('heldOut', () => {
  it('does not depend on the seed of the run, and a larger count only adds', () => {
    const few = source(1).heldOut('math', 10)
    expect(source(2).heldOut('math', 30).slice(0, 10)).toEqual(few)
    expect(createPromptSource({ seed: 1, tokenizer, heldOutSeed: 5 }).heldOut('math', 10)).not.toEqual(few)
  })

  it('gives different prompts with truths that the verifier reads', () => {
    for (const domain of source().domains) {
      const prompts = source().heldOut(domain, 256)
      expect(new Set(prompts.map((p) => p.promptText)).size).toBe(256)
      for (const p of prompts) {
        const verdict = verifiers[p.verifier]!().judge('', p.groundTruth)
        expect(verdict.outcome).toBe('unparsable')
      }
    }
  })

  it('names the domains in use when asked for another', () => {
    const s = createPromptSource({ seed: 1, tokenizer, tasks: ['math'] })
    expect(s.domains).toEqual(['math'])
    expect(() => s.heldOut('instruction', 4)).toThrow('domain: expected one of math, got instruction')
  })
})

it('refuses an unknown task by name, also one that every object has', () => {
  for (const name of ['chess', 'toString']) {
    expect(() => createPromptSource({ seed: 1, tokenizer, tasks: [name] })).toThrow(
      `tasks: expected one of instruction, math, got ${name}`,
    )
  }
})
