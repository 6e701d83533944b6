import { byteSize, clockTime, rounded } from '../output/format.ts'
import { table } from '../output/table.ts'
import type { MemoryPlan } from './memory.ts'
import type { Plan, StagePlan } from './plan.ts'
import type { Rates } from './rates.ts'

/** Seconds at most, or why they are not known. */
export type Timed =
  | { readonly seconds: undefined; readonly why: string }
  | {
      readonly seconds: number
      readonly stages: readonly number[]
      readonly evaluations: number
      readonly rates: readonly Rates[]
    }

const right = (title: string) => ({ title, align: 'right' as const })

export function planText(plan: Plan, memory: MemoryPlan, time: Timed | undefined): string {
  const seconds = time?.seconds === undefined ? undefined : time.stages
  const columns = ['from', 'kind', 'domain'].map((title) => ({ title }))
  const rows = plan.stages.map((s, i) => [
    s.name,
    s.from,
    s.kind,
    s.domain,
    exitOf(s),
    rolloutsOf(s),
    `${s.promptTokens} + ${s.responseTokens}`,
    rounded(s.sampledTokens),
    rounded(s.trainedTokens),
    ...(seconds ? [clockTime(seconds[i]! * 1000)] : []),
  ])
  const { evaluations: e } = plan
  return [
    'Stages, and what each does at most',
    ...table(
      [
        { title: 'stage' },
        ...columns,
        right('steps'),
        right('rollouts'),
        right('prompt + response'),
        right('tokens sampled'),
        right('tokens trained'),
        ...(seconds ? [right('time')] : []),
      ],
      rows,
    ),
    '',
    `Topics: ${[...new Set(plan.stages.flatMap((s) => s.topics))].join(', ')}`,
    `Scores: ${e.prompts} held-out prompts of ${e.domains.join(', ')} before the first stage and after each`,
    '',
    `Memory, about ${byteSize(memory.total)} for ${rounded(memory.parameters)} parameters`,
    ...table(
      [{ title: '' }, right('')],
      (['weights', 'gradients', 'moments', 'reference', 'cache', 'activations', 'credit'] as const)
        .filter((part) => memory[part] > 0)
        .map((part) => [`  ${part}`, byteSize(memory[part])]),
    ),
    ...timeLines(time),
  ].join('\n')
}

function timeLines(time: Timed | undefined): string[] {
  if (!time) return []
  if (time.seconds === undefined) return ['', `Time: not measured: ${time.why}`]
  return [
    '',
    `Time, about ${clockTime(time.seconds * 1000)} at most, ${clockTime(time.evaluations * 1000)} of it for scores`,
    'Measured here with random weights, every response as long as it may be; what verifiers take is not in it.',
  ]
}

function exitOf({ steps, exit, kind }: StagePlan): string {
  return kind === 'rl' && exit !== undefined ? `≤ ${steps}` : String(steps)
}

function rolloutsOf({ rollouts: { least, most } }: StagePlan): string {
  if (most === 0) return '–'
  return least === most ? rounded(most) : `${rounded(least)}–${rounded(most)}`
}
