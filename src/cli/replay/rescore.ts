import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { asyncScheduler, tap } from 'rxjs'
import { createCredit } from '../../../streams/credit.ts'
import type { Append, Envelope, TopicLog, Verifier } from '../../../streams/ports.ts'
import { runFlow } from '../../../streams/run-flow.ts'
import { sink } from '../../../streams/sink.ts'
import { source } from '../../../streams/source.ts'
import { verify } from '../../../streams/verify.ts'
import { CascadeError, prompts, type Reward, type RlStage, rollouts } from '../../../topics/index.ts'
import { openLog } from '../../log/index.ts'
import { logFolder, type OpenRun } from '../open-run.ts'
import { backoff, clock, windowOf } from '../run/assemble.ts'
import { createRun, type Manifest, refuseExisting } from '../run-folder.ts'
import { packageVersion } from '../version.ts'
import type { FilterFlags } from './filter.ts'
import { Paired, type PairedReport } from './paired.ts'
import type { LongWork } from './progress.ts'
import type { Range } from './range.ts'
import { firstOffset, type StepOf, wholeFrom } from './step-order.ts'
import { type JudgedRollout, judgedRollouts } from './step-rewards.ts'
import { always } from './verifier-of.ts'

export const replayFile = 'replay.json'

/** What a range has to offer. */
export interface Extent {
  readonly rollouts: number
  readonly groups: ReadonlySet<string>
  readonly first: StepOf
  readonly last: StepOf
  /** How many rollouts there are up to the end of each step. */
  readonly ends: readonly number[]
  /** Offsets of the rollouts; absent where those are all of the range's. */
  readonly only: ReadonlySet<number> | undefined
}

/**
 * @param passes which of the range's rollouts; absent: all
 * @throws `USAGE` where there are none; `LOG_OFFSET_GONE` also where the recorded rewards of the range are gone: there is nothing to compare with then
 */
export async function extentOf(
  log: TopicLog,
  range: Range,
  signal: AbortSignal,
  passes?: (judged: JudgedRollout) => boolean,
): Promise<Extent> {
  const only = passes && new Set<number>()
  const groups = new Set<string>()
  const ends = new Map<number, number>()
  let count = 0
  let first: StepOf | undefined
  let last: StepOf | undefined
  for await (const judged of judgedRollouts(log, range, signal)) {
    if (passes && !passes(judged)) continue
    const { rollout } = judged
    only?.add(rollout.offset)
    const { groupId, stage, step } = rollout.value
    groups.add(groupId)
    count += 1
    ends.set(range.order(rollout.value), count)
    last = { stage, step }
    first ??= last
  }
  if (!first || !last) {
    const which = passes ? 'rollouts that pass the filters' : 'rollouts'
    throw new CascadeError(
      'USAGE',
      `${range.topic.name}: expected ${which} among offsets ${range.from} to ${range.to}, got none`,
    )
  }
  return { rollouts: count, groups, first, last, ends: [...ends.values()], only }
}

/** What a run of rollouts judged again says of where they come from. */
export function originOf(
  { runId }: Manifest,
  { topic, from, to }: Range,
  { name, version, codeHash }: Verifier,
  filter?: FilterFlags,
) {
  const of = { run: runId, topic: topic.name, from, to, verifier: { name, version, codeHash } }
  return filter ? { ...of, filter } : of
}

/**
 * Judges the rollouts of a range again and writes them, their prompts and their new rewards as a run of its own, which is whole or absent
 * under its name. The run that they come from is only read.
 *
 * @throws `RUN_EXISTS`, `RUN_DIR_UNUSABLE`, what reading and writing the logs throw, the signal's reason
 */
export async function rescore(
  { log, manifest }: OpenRun,
  range: Range,
  extent: Extent,
  options: { dir: string; verifier: Verifier; filter?: FilterFlags; signal: AbortSignal; work: LongWork },
): Promise<PairedReport> {
  const { dir, verifier, filter, signal, work } = options
  await refuseExisting(dir)
  await removeAbandoned(dir)
  const partial = join(dirname(dir), `.${basename(dir)}.${process.pid}.partial`)
  const { topic, domain } = range
  const of = originOf(manifest, range, verifier, filter)
  const own: Manifest = {
    ...manifest,
    runId: basename(dir),
    version: packageVersion(),
    createdAt: new Date(clock.now()).toISOString(),
    rescored: of,
  }
  await rm(partial, { recursive: true, force: true })
  try {
    await createRun(partial, own)
    const report = await (async () => {
      const { config } = manifest
      await using copy = await openLog({
        dir: logFolder(partial),
        mode: 'append',
        clock,
        window: windowOf(config),
      })
      await copyRange(log, copy, range, extent, { run: manifest.runId, signal, work })
      const to = sink(copy)
      const credit = createCredit(config.credit)
      let judged = 0
      const judging = verify(always(verifier), {
        ...config.verify,
        backoff,
        clock: precise,
        scheduler: asyncScheduler,
      })
      // Readers count on the order of steps among rewards, which a run has because it closes one before it begins the next.
      for (const until of extent.ends) {
        const flow = source(copy, rollouts(domain), { group: 'verify', credit, until }).pipe(
          judging,
          to,
          tap(({ deliveries }) => {
            judged += deliveries.length
            work.at(`judged ${judged} of ${extent.rollouts} rollouts`)
          }),
        )
        await runFlow(flow, to, signal)
      }
      const there = { ...range, from: 0, to: await copy.offset(topic.name, 'latest') }
      return await compare({ log, range }, { log: copy, range: there }, own, extent, signal)
    })()
    await writeFile(join(partial, replayFile), `${JSON.stringify({ ...of, ...report }, null, 2)}\n`)
    // Not before: a run may have been put there meanwhile.
    await refuseExisting(dir)
    await rename(partial, dir).catch((cause: unknown) => {
      throw new CascadeError(
        'RUN_DIR_UNUSABLE',
        `${dir}: expected a folder that is empty or not there, got ${String(cause)}`,
        { cause },
      )
    })
    return report
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

/** What processes that were killed have left half-written under this name. */
async function removeAbandoned(dir: string): Promise<void> {
  const parent = dirname(dir)
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names) {
    if (!name.startsWith(`.${basename(dir)}.`)) continue
    const pid = /\.(\d+)\.partial$/.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(parent, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Rules take microseconds. */
const precise = { now: () => performance.timeOrigin + performance.now() }

async function copyRange(
  from: TopicLog,
  to: TopicLog,
  range: Range,
  extent: Extent,
  { run, signal, work }: { run: string; signal: AbortSignal; work: LongWork },
): Promise<void> {
  const { domain, topic, order } = range
  const asked = prompts(domain)
  const what = `step ${extent.first.stage}/${extent.first.step}`
  const begin = await wholeFrom(from, asked, order, order(extent.first), what)
  const end = await firstOffset(from, asked, order, order(extent.last) + 1)
  const copy = async (
    of: typeof asked | typeof topic,
    first: number,
    last: number,
    passes: (record: Envelope<{ groupId: string }>) => boolean,
  ) => {
    for (let at = first; at < last; ) {
      signal.throwIfAborted()
      const limit = { records: Math.min(1024, last - at), bytes: 8 * 1024 * 1024 }
      const { records, next } = await from.fetch(of as typeof asked, at, limit)
      if (records.length === 0) return
      const append = records.filter(passes).map(
        (r): Append<never> => ({
          topic: of as never,
          value: r.value as never,
          headers: { ...r.headers, 'source-run': run, 'source-offset': String(r.offset) },
        }),
      )
      if (append.length > 0) await to.commit({ append, settle: [] })
      work.at(`copied ${of.name} up to offset ${next} of ${last}`)
      at = next
    }
  }
  await copy(asked, begin, end, (r) => extent.groups.has(r.value.groupId))
  await copy(topic, range.from, range.to, (r) => extent.only?.has(r.offset) ?? true)
}

interface Side {
  readonly log: TopicLog
  readonly range: Range
}

/** The two runs' rollouts are the same, in the same order. */
async function compare(
  before: Side,
  after: Side,
  { config }: Manifest,
  { only }: Extent,
  signal: AbortSignal,
): Promise<PairedReport> {
  const paired = new Paired()
  let old: readonly Reward[] = []
  const past = judgedRollouts(before.log, before.range, signal, (terminal) => {
    old = terminal
  })
  let renewed: readonly Reward[] | undefined
  const now = judgedRollouts(after.log, after.range, signal, (terminal) => {
    renewed = terminal
  })
  for await (const { rollout, reward } of now) {
    let { value: was } = await past.next()
    while (was && only && !only.has(was.rollout.offset)) was = (await past.next()).value
    if (was?.rollout.value.id !== rollout.value.id) {
      throw new CascadeError(
        'STREAM_PROTOCOL',
        `${after.range.topic.name}: expected rollout ${was?.rollout.value.id}, got ${rollout.value.id}`,
      )
    }
    if (renewed) {
      const stage = config.stages.find((s) => s.name === rollout.value.stage)
      paired.step(stage as RlStage, old, renewed)
      renewed = undefined
    }
    paired.add(rollout.value.groupId, was.reward, reward)
  }
  return paired.report()
}
