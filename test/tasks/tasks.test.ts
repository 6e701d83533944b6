import { describe, expect, it } from 'vitest'
import { tokenizer } from '../../src/model/tokenizer/index.ts'
import { tasks } from '../../src/tasks/index.ts'
import type { Item } from '../../src/tasks/task.ts'
import { verifiers } from '../../src/verifiers/index.ts'

/** What must not be shared between training and held-out prompts, read from the prompt alone. */
const combinations: Record<string, (prompt: string) => string> = {
  instruction: (prompt) => prompt.slice(prompt.indexOf(' ')),
  math: (prompt) => {
    const terms = prompt.match(/[+-]?[0-9]/g)!.map(Number)
    return terms.sort((a, b) => a - b).join(' ')
  },
}

const some = Array.from({ length: 200 }, (_, i) => i * 317)

describe.each(Object.entries(tasks))('%s', (name, make) => {
  const task = make()
  const combination = combinations[name]!
  const pool = task.train(1)
  const all: Item[] = Array.from({ length: pool.size }, (_, i) => pool.item(i))

  it('is named as it is listed, and has a verifier', () => {
    expect(task.name).toBe(name)
    expect(verifiers).toHaveProperty(task.verifier)
  })

  it('gives the same item for the same seed and index, in any order and from another instance', () => {
    const again = make().train(1)
    for (const i of some.toReversed()) expect(again.item(i)).toEqual(all[i])
    expect(task.heldOut(3, 20)).toEqual(make().heldOut(3, 20))
  })

  it('gives other items for another seed', () => {
    const other = task.train(2)
    const same = some.filter((i) => other.item(i).prompt === all[i]!.prompt)
    expect(same.length).toBeLessThan(some.length / 10)
    expect(task.heldOut(1, 50)).not.toEqual(task.heldOut(2, 50))
  })

  it('holds out combinations that no pool of any seed asks for', () => {
    const trained = new Set(all.map((item) => combination(item.prompt)))
    const second = task.train(2)
    for (let i = 0; i < second.size; i += 3) trained.add(combination(second.item(i).prompt))
    const held = [0, 1, 2].flatMap((seed) => task.heldOut(seed, 512))
    expect(held.filter((item) => trained.has(combination(item.prompt)))).toEqual([])
    expect(new Set(held.map((item) => combination(item.prompt))).size).toBeGreaterThan(30)
  })

  it('gives different held-out prompts, the first of them however many are asked for', () => {
    const held = task.heldOut(0, 512)
    expect(new Set(held.map((item) => item.prompt)).size).toBe(512)
    expect(task.heldOut(0, 40)).toEqual(held.slice(0, 40))
  })

  it('gives every item an id of its own', () => {
    const ids = [...all, ...task.heldOut(0, 512)].map((item) => item.id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('keeps to the lengths that it states, and reaches them', () => {
    const prompts = all.map((item) => tokenizer.encode(item.prompt).length)
    const responses = all.map((item) => tokenizer.encode(task.demonstration(item, 1, 0)).length)
    const longest = (lengths: number[]) => lengths.reduce((a, b) => Math.max(a, b))
    expect(longest(prompts)).toBe(task.maxPromptTokens)
    expect(longest(responses)).toBe(task.maxResponseTokens)
  })

  it('has ground truths that the verifier reads, also after a round trip through JSON', () => {
    const judge = verifiers[task.verifier]!().judge
    for (const i of some) {
      const truth: unknown = JSON.parse(JSON.stringify(all[i]!.groundTruth))
      expect(judge('a=0', truth).outcome).toBe('score')
    }
  })

  it.each([[-1], [0.5], [65_536], [Number.NaN]])('has no item %d', (index) => {
    expect(() => pool.item(index)).toThrow(`expected an index from 0 to 65535, got ${index}`)
  })
})
