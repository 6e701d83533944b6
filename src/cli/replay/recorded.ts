import { CascadeError } from '../../../topics/index.ts'
import type { Context } from '../command.ts'
import type { OpenRun } from '../open-run.ts'
import { print } from '../output/print.ts'
import { table } from '../output/table.ts'
import { engineOf, profileDifference } from '../run/engine.ts'
import { type Comparison, Recorded } from './compare.ts'
import { longWork } from './progress.ts'
import type { Range } from './range.ts'
import { type RebuiltStep, rebuild } from './rebuild.ts'
import { type RecordedPlan, recordedPlan } from './recorded-plan.ts'

export interface RecordedFlags {
  readonly apply?: true
  readonly inexact?: true
  readonly json?: true
}

/**
 * Rebuilds gradient batches and weights from the recorded rewards, or says what that would read. The exit code is 1 where what was
 * rebuilt is not what the run recorded, unless `inexact` was asked for.
 *
 * @throws `PROFILE_MISMATCH`, and what {@link recordedPlan} and {@link rebuild} throw
 */
export async function recorded(
  open: OpenRun,
  range: Range,
  flags: RecordedFlags,
  context: Context,
): Promise<void> {
  const { log, manifest } = open
  const { stdout, stderr, signal } = context
  const plan = await recordedPlan(open, range, signal)
  if (!flags.apply) return print(stdout, flags.json ? planJson(plan) : planText(plan), signal)
  await using engine = await engineOf(manifest.config, manifest.deterministic)
  const differs = profileDifference(manifest, engine)
  if (differs !== undefined && !flags.inexact) {
    throw new CascadeError(
      'PROFILE_MISMATCH',
      `the run was computed on another numeric profile (${differs}): replay it on that one, or with --inexact`,
    )
  }
  const steps: RebuiltStep[] = []
  {
    using work = longWork(stderr)
    const options = { inexact: flags.inexact ?? false, signal }
    for await (const step of rebuild(open, engine, plan, options)) {
      steps.push(step)
      work.at(
        `rebuilt step ${step.closed.stage}/${step.closed.step}: ${steps.length} of ${plan.steps.length}`,
      )
    }
  }
  const there = await Recorded.read(log, plan.checkpoints, steps, signal)
  const rows = steps.map((step) => ({ step, same: there.compare(step) }))
  const result = resultOf(rows, differs)
  await print(stdout, flags.json ? json(rows, result) : human(plan, rows, result), signal)
  if (result.equal === false && !flags.inexact) context.exitWith(1)
}

type Row = { step: RebuiltStep; same: Comparison }

interface Result {
  readonly weights: string
  readonly version: number
  /** Undefined where no record is left to compare with. */
  readonly equal: boolean | undefined
  /** Why the weights need not be those of the run. */
  readonly inexact: readonly string[]
}

function resultOf(rows: readonly Row[], differs: string | undefined): Result {
  const compared = rows.flatMap(({ same }) => Object.values(same).filter((s) => s !== undefined))
  const altered = rows.flatMap(({ step }) => step.altered)
  const last = rows.at(-1)!.step
  return {
    weights: last.weightsHash,
    version: last.closed.version,
    equal: compared.length === 0 ? undefined : compared.every(Boolean),
    inexact: [
      ...(differs === undefined ? [] : [`another numeric profile: ${differs}`]),
      ...(altered.length === 0 ? [] : [`altered rewards: groups ${altered.join(', ')}`]),
    ],
  }
}

function planFacts({ start, steps, before, without }: RecordedPlan) {
  const groups = steps.flatMap((s) => s.groups).length
  const [first, last] = [steps[0]!, steps.at(-1)!]
  const demonstrations = steps.reduce(
    (n, s) => n + (s.demonstrations ? s.demonstrations.to - s.demonstrations.from : 0),
    0,
  )
  return {
    checkpoint: start.id,
    version: start.version,
    first: `${first.stage}/${first.step}`,
    last: `${last.stage}/${last.step}`,
    steps: steps.length,
    before,
    without,
    groups,
    demonstrations,
  }
}

function planJson(plan: RecordedPlan): string {
  return `${JSON.stringify({ event: 'plan', ...planFacts(plan), writes: [] })}\n`
}

function planText(plan: RecordedPlan): string {
  const f = planFacts(plan)
  const earlier = f.before > 0 ? `, ${f.before} of them before the range, since the checkpoint` : ''
  const none = f.without > 0 ? `; ${f.without} closed without an update` : ''
  const sft = f.demonstrations > 0 ? `, ${f.demonstrations} demonstrations` : ''
  return [
    `would read     checkpoint ${f.checkpoint} (version ${f.version}), and of the log the rollouts and rewards of these steps`,
    `would rebuild  ${f.steps} steps, ${f.first} to ${f.last}${earlier}${none}: ${f.groups} groups${sft}`,
    'would write    nothing',
    '',
    'This was a dry run: --apply does it.',
    '',
  ].join('\n')
}

function json(rows: readonly Row[], result: Result): string {
  const lines = rows.map(({ step, same }) => ({
    event: 'step',
    stage: step.closed.stage,
    step: step.closed.step,
    version: step.closed.version,
    rows: step.rows,
    loss: step.update.loss,
    batch: step.batchHash,
    weights: step.weightsHash,
    batchEqual: same.batch ?? null,
    updateEqual: same.update ?? null,
    weightsEqual: same.weights ?? null,
    altered: step.altered,
  }))
  const end = { event: 'result', ...result, equal: result.equal ?? null }
  return [...lines, end].map((line) => `${JSON.stringify(line)}\n`).join('')
}

function human(plan: RecordedPlan, rows: readonly Row[], result: Result): string {
  const word = (same: boolean | undefined) => (same === undefined ? 'no record' : same ? 'equal' : 'DIFFERS')
  const lines = table(
    [
      { title: 'step' },
      { title: 'version', align: 'right' },
      { title: 'rows', align: 'right' },
      { title: 'gradient batch' },
      { title: '' },
      { title: 'update' },
      { title: 'weights' },
      { title: '' },
    ],
    rows.map(({ step, same }) => [
      `${step.closed.stage}/${step.closed.step}`,
      String(step.closed.version),
      String(step.rows),
      step.batchHash.slice(0, 16),
      word(same.batch),
      word(same.update),
      step.weightsHash.slice(0, 16),
      word(same.weights),
    ]),
  )
  const verdict =
    result.equal === undefined
      ? 'the run has no record left to compare with'
      : result.equal
        ? 'equal to all that the run has recorded of them'
        : 'NOT what the run recorded'
  const reasons = result.inexact.map((reason) => `inexact: ${reason}\n`).join('')
  return `from checkpoint ${plan.start.id}\n\n${lines.join('\n')}\n\nweights of version ${result.version}: sha256 ${result.weights}\n${verdict}\n${reasons}`
}
