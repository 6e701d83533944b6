import { hash, type Random, random } from './random.ts'
import { checkIndex, type Item, type Pool, type Task } from './task.ts'

/** An item as drawn, with what must not be shared between training and held-out prompts. */
export interface Combined {
  prompt: string
  groundTruth: unknown
  /** Absent in an item that is for training only. */
  combination?: string
}

export interface SplitSpec extends Omit<Task, 'train' | 'heldOut'> {
  draw(r: Random): Combined
  /**
   * Names one of the possible splits. Where combinations are few, choose one whose held-out prompts are of about the same
   * kinds as training's; a change makes scores incomparable. @default 0
   */
  split?: number
  /** Items of the training pool. @default 65,536 */
  size?: number
}

/** One combination in so many is held out. */
const heldOutOneIn = 8

/** Draws in a row that find nothing usable before the task counts as unable to give what was asked. */
const patience = 10_000

/**
 * A task whose combinations are split by their hash: which side one falls on depends on the task's name alone,
 * so that training of one seed never meets what is held out of another.
 */
export function splitTask(spec: SplitSpec): Task {
  const { draw, split = 0, size = 65_536, ...task } = spec
  const isHeldOut = (c: Combined): boolean =>
    c.combination !== undefined && hash(spec.name, 'split', split, c.combination) % heldOutOneIn === 0

  function first(r: Random, usable: (c: Combined) => boolean): Combined {
    for (let i = 0; i < patience; i++) {
      const c = draw(r)
      if (usable(c)) return c
    }
    throw new RangeError(`task ${spec.name}: no further prompt among ${patience} draws`)
  }

  function train(seed: number): Pool {
    return {
      size,
      item(index: number): Item {
        checkIndex(index, size)
        const c = first(random(spec.name, 'train', seed, index), (c) => !isHeldOut(c))
        return { id: `${spec.name}/train/${index}`, prompt: c.prompt, groundTruth: c.groundTruth }
      },
    }
  }

  function heldOut(seed: number, n: number): Item[] {
    const r = random(spec.name, 'held-out', seed)
    const prompts = new Set<string>()
    return Array.from({ length: n }, (_, i) => {
      const c = first(r, (c) => isHeldOut(c) && !prompts.has(c.prompt))
      prompts.add(c.prompt)
      return { id: `${spec.name}/held-out/${i}`, prompt: c.prompt, groundTruth: c.groundTruth }
    })
  }

  return Object.freeze({ ...task, train, heldOut })
}
