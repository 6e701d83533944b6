import { instruction } from './instruction.ts'
import { math } from './math.ts'
import type { Task } from './task.ts'

export type { Item, Pool, Task } from './task.ts'

/** Every generated task, by name. */
export const tasks: Readonly<Record<string, () => Task>> = {
  instruction,
  math,
}
