import { basename } from 'node:path'
import type { Append } from '../../../streams/ports.ts'
import { CascadeError, prompts, rewards, rollouts } from '../../../topics/index.ts'
import type { ClosedStep } from '../../exchange/grouping.ts'
import type { Format } from '../../exchange/index.ts'
import { type ImportOf, recordsOf } from '../../exchange/records.ts'
import { type EmbeddedLog, openLog } from '../../log/index.ts'
import { packageVersion } from '../../version.ts'
import { configSchema, hashConfig } from '../config.ts'
import { logFolder } from '../open-run.ts'
import { clock } from '../run/assemble.ts'
import { createRun } from '../run-folder.ts'
import { wholeRun } from '../whole-run.ts'
import { Reading, stepsOf } from './read-rows.ts'

/** The one stage of an imported run. */
export const importedStage = 'imported'

/** Rollouts of one transaction at most, unless a group is larger: a bound on how long encoding holds the event loop. */
const rolloutsTogether = 64
/** Transactions under way: they share the log's syncs. */
const transactionsTogether = 8

export interface ImportOptions {
  readonly format: Format
  readonly files: readonly string[]
  readonly cwd: string
  readonly dir: string
  readonly domain: string
  readonly verifier: string
  readonly skipBad: boolean
  readonly signal: AbortSignal
  /** Called now and then with what is done. */
  onProgress(rollouts: number, bytes: number): void
}

export interface Imported {
  readonly rows: number
  readonly rollouts: number
  readonly groups: number
  readonly steps: number
  readonly rewards: number
  /** Of rollouts with a score. */
  readonly meanReward: number | null
  /** Fields of rollouts that some row does not say. */
  readonly absent: readonly string[]
  readonly reading: Reading
}

/**
 * Writes the rows of files as a run of prompts, rollouts and rewards, which is whole or absent under its name.
 *
 * @throws `RECORD_INVALID`, `USAGE` where no row is left, `RUN_EXISTS`, `RUN_DIR_UNUSABLE`, what the log throws, the signal's reason
 */
export async function importRun(options: ImportOptions): Promise<Imported> {
  const { dir, domain, verifier, format, files, signal } = options
  const run = basename(dir)
  const of: ImportOf = { run, stage: importedStage, domain, dataset: format.name, verifier }
  return wholeRun(dir, async (partial) => {
    const reading = new Reading()
    const log = await openLog({ dir: logFolder(partial), mode: 'append', clock })
    const writer = new Writer(log, of)
    try {
      for await (const step of stepsOf(options, reading)) {
        for (const group of chunks(step)) {
          signal.throwIfAborted()
          await writer.write(step.step, group)
          options.onProgress(writer.rollouts, reading.bytes)
        }
      }
      await writer.flush()
    } finally {
      await log.close()
    }
    if (writer.rollouts === 0) {
      const why = reading.skipped > 0 ? `; ${reading.skipped} malformed lines were left out` : ''
      throw new CascadeError('USAGE', `--in: expected rows of ${format.name}, got none${why}`)
    }
    const config = configSchema.parse({ stages: [writer.stage()] })
    // Last: a folder without it is no run.
    await createRun(partial, {
      runId: run,
      version: packageVersion(),
      seed: 0,
      deterministic: false,
      createdAt: new Date(clock.now()).toISOString(),
      configHash: hashConfig(config),
      config,
      profile: {},
      imported: {
        format: format.name,
        files: files.map((file) => basename(file)).slice(0, 100),
        rows: reading.rows,
      },
    })
    return writer.imported(reading)
  })
}

/** Groups that are written together. */
function* chunks({ groups }: ClosedStep): Generator<ClosedStep['groups']> {
  let chunk: ClosedStep['groups'][number][] = []
  let size = 0
  for (const group of groups) {
    if (size > 0 && size + group.length > rolloutsTogether) {
      yield chunk
      chunk = []
      size = 0
    }
    chunk.push(group)
    size += group.length
  }
  if (chunk.length > 0) yield chunk
}

class Writer {
  readonly #log: EmbeddedLog
  readonly #of: ImportOf
  readonly #topics
  readonly #commits: Promise<void>[] = []
  readonly #absent = new Set<string>()
  readonly #steps = new Set<number>()
  rollouts = 0
  #groups = 0
  #rewards = 0
  #scored = 0
  #sum = 0
  #step = 0
  #groupsOfStep = 0
  #most = { groups: 1, members: 2, tokens: 1 }

  constructor(log: EmbeddedLog, of: ImportOf) {
    this.#log = log
    this.#of = of
    this.#topics = { prompts: prompts(of.domain), rollouts: rollouts(of.domain), rewards: rewards(of.domain) }
  }

  /** Waits while as many transactions as may be are under way. */
  async write(step: number, groups: ClosedStep['groups']): Promise<void> {
    const append: Append[] = []
    const first = this.rollouts
    if (step !== this.#step) this.#groupsOfStep = 0
    this.#step = step
    this.#steps.add(step)
    for (const members of groups) {
      const at = { step, admission: this.#groups }
      const records = recordsOf(
        members.map((m) => m.rollout),
        this.#of,
        at,
      )
      append.push({ topic: this.#topics.prompts, value: records.prompt } as Append)
      for (const [i, value] of records.rollouts.entries()) {
        const { file, line } = members[i]!.place
        const headers = { 'source-file': basename(file), 'source-line': String(line) }
        append.push({ topic: this.#topics.rollouts, value, headers } as Append)
        for (const name of value.absent ?? []) this.#absent.add(name)
        this.#most.tokens = Math.max(this.#most.tokens, value.responseTokens.length)
      }
      for (const value of records.rewards(this.rollouts)) {
        append.push({ topic: this.#topics.rewards, value } as Append)
        this.#rewards += 1
        if (value.score === undefined) continue
        this.#scored += 1
        this.#sum += value.score
      }
      this.rollouts += members.length
      this.#groups += 1
      this.#groupsOfStep += 1
      this.#most.members = Math.max(this.#most.members, members.length)
    }
    this.#most.groups = Math.max(this.#most.groups, this.#groupsOfStep)
    const written = this.#log.commit({ append, settle: [] }).then(({ offsets }) => {
      const offset = offsets[append.findIndex((a) => a.topic === (this.#topics.rollouts as unknown))]
      if (offset === first) return
      throw new CascadeError(
        'STREAM_PROTOCOL',
        `${this.#topics.rollouts.name}: expected offset ${first}, got ${offset}`,
      )
    })
    // Awaited in its turn; until then a rejection is not unhandled.
    written.catch(() => undefined)
    this.#commits.push(written)
    if (this.#commits.length >= transactionsTogether) await this.#commits.shift()
  }

  async flush(): Promise<void> {
    while (this.#commits.length > 0) await this.#commits.shift()
  }

  /** What the config of the run says of its stage: what the records say. */
  stage() {
    return {
      kind: 'rl' as const,
      name: this.#of.stage,
      domain: this.#of.domain,
      task: this.#of.dataset,
      steps: this.#step,
      prompts: this.#most.groups,
      groupSize: this.#most.members,
      maxTokens: this.#most.tokens,
      lr: 0,
    }
  }

  imported(reading: Reading): Imported {
    return {
      rows: reading.rows,
      rollouts: this.rollouts,
      groups: this.#groups,
      steps: this.#steps.size,
      rewards: this.#rewards,
      meanReward: this.#scored === 0 ? null : this.#sum / this.#scored,
      absent: [...this.#absent].sort(),
      reading,
    }
  }
}
