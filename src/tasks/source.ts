import type { AdmittedDemonstration, AdmittedPrompt, PromptSource } from '../../streams/ports.ts'
import { CascadeError, type RlStage, type SftStage } from '../../topics/index.ts'
import { tasks as allTasks } from './index.ts'
import { shuffled } from './shuffle.ts'
import type { Item, Pool, Task } from './task.ts'

/** What a source needs of a tokenizer. */
export interface PromptEncoder {
  encode(text: string): ArrayLike<number>
  readonly bosId: number
  readonly eosId: number
}

export interface PromptSourceOptions {
  /** Seed of the run: fixes training pool, order and annotators, but not what is held out. */
  seed: number
  tokenizer: PromptEncoder
  /** Names of the tasks in use; each serves a domain of its own. @default every task */
  tasks?: readonly string[]
  /** Tasks beside the built-in ones. */
  own?: readonly Task[]
  /** Seed of the held-out prompts, the same for every run so that scores of runs compare. @default 0 */
  heldOutSeed?: number
}

/** A prompt for evaluation, with what its verifier needs. */
export interface HeldOutPrompt {
  readonly promptId: string
  readonly promptText: string
  /** Begins with the bos token. */
  readonly promptTokens: Int32Array
  readonly groundTruth: unknown
  readonly verifier: string
}

export interface TaskSource extends PromptSource {
  /**
   * The first `count` held-out prompts of a domain: a larger count only adds to a smaller one.
   *
   * @throws `CONFIG_INVALID` where no task in use serves the domain.
   */
  heldOut(domain: string, count: number): HeldOutPrompt[]
  /** Tokens of the longest prompt and response of a domain, bos and eos included. */
  limits(domain: string): { promptTokens: number; responseTokens: number }
}

/** One step through a pool: which item, and how often the pool was gone through before. */
interface Visit {
  item: Item
  epoch: number
}

interface Loaded {
  task: Task
  pool: Pool
  /** The latest epoch's order: a walk asks for the same one many times in a row. */
  order: { stage: string; epoch: number; indices: Uint32Array } | undefined
}

/**
 * Prompts and demonstrations of tasks. Each epoch goes once through the whole training pool in an order of
 * its own, a pure function of seed, stage and epoch. A stage of several tasks takes them in turn; one that
 * it lists twice gets two turns.
 *
 * `prompt` and `demonstration` throw `CONFIG_INVALID` where the stage names a task that is not in use, or a domain that
 * is not the task's.
 */
export function createPromptSource(options: PromptSourceOptions): TaskSource {
  const { seed, tokenizer, heldOutSeed = 0, own = [] } = options
  const loaded = new Map<string, Loaded>()
  const byDomain = new Map<string, Task>()
  for (const name of options.tasks ?? Object.keys(allTasks)) {
    const task = load(name, own)
    const other = byDomain.get(task.domain)
    if (other && other.name !== task.name) {
      throw new CascadeError(
        'CONFIG_INVALID',
        `tasks: expected one task a domain, got ${other.name} and ${task.name} for domain ${task.domain}`,
      )
    }
    loaded.set(name, { task, pool: task.train(seed), order: undefined })
    byDomain.set(task.domain, task)
  }

  function use(stage: string, name: string): Loaded {
    const found = loaded.get(name)
    if (found) return found
    throw new CascadeError(
      'CONFIG_INVALID',
      `stage ${stage}: task: expected one of ${[...loaded.keys()].join(', ')}, got ${name}`,
    )
  }

  function visit(stage: string, from: Loaded, n: number): Visit {
    const { task, pool } = from
    const epoch = Math.floor(n / pool.size)
    if (from.order?.stage !== stage || from.order.epoch !== epoch) {
      from.order = { stage, epoch, indices: shuffled(pool.size, task.name, seed, stage, epoch) }
    }
    return { item: pool.item(from.order.indices[n % pool.size]!), epoch }
  }

  const promptTokens = (text: string): Int32Array =>
    Int32Array.from([tokenizer.bosId, ...Array.from(tokenizer.encode(text))])

  function prompt(stage: RlStage, admission: number): AdmittedPrompt {
    const from = use(stage.name, stage.task)
    const { task } = from
    if (task.domain !== stage.domain) {
      throw new CascadeError(
        'CONFIG_INVALID',
        `stage ${stage.name}: domain: expected ${task.domain}, the domain of task ${task.name}, got ${stage.domain}`,
      )
    }
    const { item, epoch } = visit(stage.name, from, admission)
    return {
      dataset: task.name,
      promptId: item.id,
      epoch,
      visit: epoch,
      promptTokens: promptTokens(item.prompt),
      promptText: item.prompt,
      groundTruth: item.groundTruth,
      verifier: stage.verifier ?? task.verifier,
    }
  }

  function demonstration(stage: SftStage, admission: number): AdmittedDemonstration {
    const { tasks } = stage
    const turn = admission % tasks.length
    const name = tasks[turn]!
    const from = use(stage.name, name)
    const times = (list: readonly string[]): number => list.filter((t) => t === name).length
    const n = Math.floor(admission / tasks.length) * times(tasks) + times(tasks.slice(0, turn))
    const { item, epoch } = visit(stage.name, from, n)
    const text = from.task.demonstration(item, seed, epoch)
    return {
      domain: from.task.domain,
      dataset: from.task.name,
      promptId: item.id,
      epoch,
      promptTokens: promptTokens(item.prompt),
      responseTokens: Int32Array.from([...Array.from(tokenizer.encode(text)), tokenizer.eosId]),
    }
  }

  function serving(domain: string): Task {
    const task = byDomain.get(domain)
    if (task) return task
    throw new CascadeError(
      'CONFIG_INVALID',
      `domain: expected one of ${[...byDomain.keys()].join(', ')}, got ${domain}`,
    )
  }

  return Object.freeze({
    domains: Object.freeze([...byDomain.keys()]),
    stopTokens: Object.freeze([tokenizer.eosId]),
    prompt,
    demonstration,
    heldOut(domain: string, count: number): HeldOutPrompt[] {
      const task = serving(domain)
      return task.heldOut(heldOutSeed, count).map((item) => ({
        promptId: item.id,
        promptText: item.prompt,
        promptTokens: promptTokens(item.prompt),
        groundTruth: item.groundTruth,
        verifier: task.verifier,
      }))
    },
    limits(domain: string) {
      const task = serving(domain)
      return { promptTokens: task.maxPromptTokens + 1, responseTokens: task.maxResponseTokens + 1 }
    },
  })
}

function load(name: string, own: readonly Task[]): Task {
  const given = own.find((task) => task.name === name)
  if (given) return given
  const make = Object.hasOwn(allTasks, name) ? allTasks[name] : undefined
  if (make) return make()
  throw new CascadeError(
    'CONFIG_INVALID',
    `tasks: expected one of ${[...Object.keys(allTasks), ...own.map((t) => t.name)].join(', ')}, got ${name}`,
  )
}
