import { relative, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Verifier } from '../../../streams/ports.ts'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import type { Context } from '../command.ts'
import { type OpenRun, runsFolder, withRun } from '../open-run.ts'
import { print } from '../output/print.ts'
import { styleOf, wantsColor } from '../output/style.ts'
import { type Report, terminalReport } from '../report/index.ts'
import { newRunId } from '../run/run-id.ts'
import { readManifest, refuseExisting } from '../run-folder.ts'
import { type FilterFlags, filterOf } from './filter.ts'
import type { PairedReport } from './paired.ts'
import { pairedText } from './paired-text.ts'
import { longWork } from './progress.ts'
import type { Range } from './range.ts'
import { type Extent, extentOf, originOf, rescore } from './rescore.ts'
import { lead } from './train/lead.ts'
import { estimate, type TrainPlan, trainPlan } from './train/plan.ts'
import {
  evaluationJson,
  planFacts,
  planLines,
  readTrained,
  stepJson,
  stepText,
  trainedJson,
  trainedText,
} from './train/show.ts'
import { verifierOf } from './verifier-of.ts'

export interface RescoredFlags extends FilterFlags {
  readonly options?: unknown
  readonly config?: string
  readonly dir?: string
  readonly train?: true
  readonly fromCheckpoint?: string
  readonly apply?: true
  readonly json?: true
}

/**
 * Judges a range again into a run of its own, and trains it where that is asked for, or says what that would do. The exit code is 1 where
 * every verdict was an error.
 *
 * @param by who judges, as the command names it
 * @throws what {@link verifierOf}, {@link extentOf}, {@link rescore}, {@link trainPlan} and {@link lead} throw
 */
export async function rescored(
  open: OpenRun,
  range: Range,
  by: string | undefined,
  flags: RescoredFlags,
  context: Context,
): Promise<void> {
  const { cwd, signal } = context
  if (by === undefined) {
    throw new CascadeError('USAGE', '--verifier: expected the name or the file of a verifier, got none')
  }
  const filter = givenFilter(flags)
  if (filter && flags.train) {
    throw new CascadeError(
      'USAGE',
      `--${Object.keys(filter)[0] === 'verifier' ? 'judged-by' : Object.keys(filter)[0]}: expected without --train, as a step is trained on with all of its groups and all their members judged by one verifier`,
    )
  }
  if (flags.fromCheckpoint !== undefined && !flags.train) {
    throw new CascadeError('USAGE', '--from-checkpoint: expected with --train, got none')
  }
  await using opened = await verifierOf({ ...flags, verifier: by }, open, context)
  const { verifier } = opened
  const runs = resolve(cwd, runsFolder)
  const dir = flags.dir === undefined ? resolve(runs, newRunId(runs, new Date())) : resolve(cwd, flags.dir)
  const command = { open, range, flags, filter, verifier, dir, context }
  if (flags.train && (await isJudged(command))) return trainJudged(command, undefined)
  await refuseExisting(dir)
  const extent = await extentOf(open.log, range, signal, filter && filterOf(filter))
  // Before anything is judged: what cannot be trained on is an error of the command.
  const plan = flags.train ? await planOf(command) : undefined
  if (!flags.apply) return dryRun(command, extent, plan)
  const report = await judge(command, extent)
  if (report.after.error === report.rollouts) return context.exitWith(1)
  if (plan) await trainJudged(command, plan)
}

interface RescoredCommand {
  readonly open: OpenRun
  readonly range: Range
  readonly flags: RescoredFlags
  readonly filter: FilterFlags | undefined
  readonly verifier: Verifier
  readonly dir: string
  readonly context: Context
}

function givenFilter({ verdict, verifier, reward, prompt }: FilterFlags): FilterFlags | undefined {
  const given = Object.entries({ verdict, verifier, reward, prompt }).filter(([, v]) => v !== undefined)
  return given.length === 0 ? undefined : (Object.fromEntries(given) as FilterFlags)
}

/** Whether the folder holds what this command would judge, from before. @throws `RUN_EXISTS` where it holds something else */
async function isJudged({ open, range, verifier, dir }: RescoredCommand): Promise<boolean> {
  const manifest = await readManifest(dir).catch((error: unknown) => {
    if (isCascadeError(error, 'RUN_NOT_FOUND')) return undefined
    throw error
  })
  if (!manifest) return false
  const wanted: Record<string, unknown> = originOf(open.manifest, range, verifier)
  const there: Record<string, unknown> = manifest.rescored ?? {}
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(there)])) {
    if (isDeepStrictEqual(wanted[name], there[name])) continue
    const said = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value))
    const got = manifest.rescored ? `${name} ${said(there[name])}` : 'a run of its own'
    throw new CascadeError(
      'RUN_EXISTS',
      `${dir}: expected no run, or one of the same rollouts judged by the same verifier (${name} ${said(wanted[name])}), got ${got}; choose another --dir`,
    )
  }
  return true
}

function planOf({ open, range, flags, context: { signal } }: RescoredCommand): Promise<TrainPlan> {
  return trainPlan(open, range, { from: flags.fromCheckpoint, signal })
}

async function dryRun(
  { open, range, flags, verifier, dir, context }: RescoredCommand,
  { rollouts, groups, ends }: Extent,
  plan: TrainPlan | undefined,
): Promise<void> {
  const { stdout, cwd, signal } = context
  const { name, version, codeHash } = verifier
  const seconds = plan && (await estimate(open.log, plan, signal))
  const training = plan ? ', and the steps, weights and scores of its training' : ''
  const lines = [
    `would read     ${range.topic.name}, offsets ${range.from} to ${range.to}: ${rollouts} rollouts, ${groups.size} groups, ${ends.length} steps`,
    `would judge    each by ${name}@${version}`,
    ...(plan ? planLines(plan, seconds) : []),
    `would write    ${relative(cwd, dir) || dir}, a run of ${groups.size} prompts, ${rollouts} rollouts and ${rollouts} rewards${training}`,
    '',
    'This was a dry run: --apply does it.',
  ]
  const said = {
    event: 'plan',
    rollouts,
    groups: groups.size,
    steps: ends.length,
    verifier: { name, version, codeHash },
    ...(plan ? { training: planFacts(plan, seconds) } : {}),
    writes: [dir],
  }
  await print(stdout, flags.json ? `${JSON.stringify(said)}\n` : `${lines.join('\n')}\n`, signal)
}

async function judge(
  { open, range, flags, filter, verifier, dir, context }: RescoredCommand,
  extent: Extent,
): Promise<PairedReport> {
  const { stdout, stderr, cwd, signal } = context
  const { name, version, codeHash } = verifier
  let report: PairedReport
  {
    using work = longWork(stderr)
    report = await rescore(open, range, extent, {
      dir,
      verifier,
      signal,
      work,
      ...(filter ? { filter } : {}),
    })
  }
  const text = flags.json
    ? `${JSON.stringify({ event: 'report', dir, verifier: { name, version, codeHash }, ...report })}\n`
    : `${pairedText(report, `${name}@${version}`)}\nrun: ${relative(cwd, dir) || dir}\n`
  await print(stdout, text, signal)
  return report
}

/** @param plan absent where the run was judged before: it may have set out already */
async function trainJudged(command: RescoredCommand, plan: TrainPlan | undefined): Promise<void> {
  const { open, flags, dir, context } = command
  const { stdout, stderr, cwd, env, signal } = context
  const shown = relative(cwd, dir) || dir
  if (!flags.apply) {
    const text = flags.json
      ? `${JSON.stringify({ event: 'plan', judged: true, writes: [dir] })}\n`
      : `would go on    with ${shown}, whose rollouts are judged: train on them to the end of the range\n\nThis was a dry run: --apply does it.\n`
    return print(stdout, text, signal)
  }
  const say = (value: unknown) =>
    flags.json ? print(stdout, `${JSON.stringify(value)}\n`, signal) : undefined
  let report: Report
  try {
    using work = longWork(stderr)
    report = await lead({
      origin: open,
      dir,
      from: flags.fromCheckpoint,
      plan: async () => plan ?? (await planOf(command)),
      work,
      note: (text) => void stderr.write(`${text}\n`),
      context: { signal, env },
      onStep: async (step) => {
        work.at(stepText(step))
        await say(stepJson(step))
      },
      onEvaluation: async (evaluation) => {
        work.at(`scored ${evaluation.domain} after ${evaluation.stage}`)
        await say(evaluationJson(evaluation))
      },
    })
  } catch (error) {
    if (!(signal.aborted && (error === signal.reason || isCascadeError(error, 'INTERRUPTED')))) throw error
    throw new CascadeError('INTERRUPTED', `interrupted; the same command with --dir ${shown} goes on`, {
      cause: error,
    })
  }
  const trained = await withRun(context, dir, ({ log }) => readTrained(log, signal))
  if (flags.json) return say(trainedJson(dir, trained))
  const style = styleOf(wantsColor(stdout, env))
  const columns = stdout.columns ?? 100
  const text = `\n${trainedText(shown, trained)}\n${terminalReport(report, { style, columns })}\nreport: ${shown}/report.html\n`
  await print(stdout, text, signal)
}
