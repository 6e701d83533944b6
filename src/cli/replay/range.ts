import type { TopicLog } from '../../../streams/ports.ts'
import {
  CascadeError,
  type Rollout,
  rlDomains,
  rollouts,
  type StageSpec,
  type Topic,
} from '../../../topics/index.ts'
import { placeOf } from '../read-records.ts'
import { firstOffset, removed, type StepOf, type StepOrder, stepOrder, wholeFrom } from './step-order.ts'

/** Offsets `[from, to)` of the rollouts of one domain. */
export interface Range {
  readonly domain: string
  readonly topic: Topic<Rollout>
  readonly from: number
  readonly to: number
  readonly order: StepOrder
}

/** The domain of `rollouts.<domain>`. @throws `USAGE` naming those that the run has */
export function domainOf(topic: string, stages: readonly StageSpec[]): string {
  const domains = rlDomains(stages)
  const domain = domains.find((d) => topic === `rollouts.${d}`)
  if (domain !== undefined) return domain
  const known = domains.map((d) => `rollouts.${d}`).join(', ') || 'none, as the run has no RL stage'
  throw new CascadeError('USAGE', `--topic: expected one of ${known}, got ${topic}`)
}

/**
 * The range that two places mean. A place is an offset, an ISO time, `earliest`, `latest`, `stage:NAME` or `step:STAGE/N`. `to` is not
 * included where it is an offset or a time, and is where it names a stage or a step.
 *
 * @throws `USAGE`; `LOG_OFFSET_GONE` naming topic and offsets where retention has removed a part of the range
 */
export async function rangeOf(
  log: TopicLog,
  domain: string,
  stages: readonly StageSpec[],
  places: { from: string; to: string },
): Promise<Range> {
  const topic = rollouts(domain)
  const order = stepOrder(stages)
  const earliest = await log.offset(topic.name, 'earliest')
  const next = await log.offset(topic.name, 'latest')
  const first = named(places.from, '--from', domain, stages)
  let from: number
  if (first) from = await wholeFrom(log, topic, order, order(first.first), places.from)
  else {
    from = await placeOf(log, topic.name, places.from, '--from')
    const byTime = places.from !== 'earliest' && !/^\d+$/.test(places.from)
    if (from < earliest || (byTime && from === earliest && earliest > 0)) {
      throw removed(topic.name, earliest, `--from ${places.from}`)
    }
  }
  const last = named(places.to, '--to', domain, stages)
  const to = last
    ? await firstOffset(log, topic, order, order(last.last) + 1)
    : Math.min(next, await placeOf(log, topic.name, places.to, '--to'))
  if (from >= to) {
    throw new CascadeError(
      'USAGE',
      `${topic.name}: expected a range with rollouts in it, got offsets ${from} to ${to}; those from ${earliest} to ${next} are there`,
    )
  }
  return { domain, topic, from, to, order }
}

/** The first and the last step that a word names, where it names any. */
function named(
  text: string,
  option: string,
  domain: string,
  stages: readonly StageSpec[],
): { first: StepOf; last: StepOf } | undefined {
  const found = /^(stage|step):(.*?)(?:\/(\d{1,9}))?$/.exec(text)
  if (!found) return undefined
  const [, form, stage = '', number] = found
  const mine = stages.filter((s) => s.kind === 'rl' && s.domain === domain)
  const spec = mine.find((s) => s.name === stage)
  const step = Number(number)
  if (
    !spec ||
    (form === 'step') !== (number !== undefined) ||
    (form === 'step' && (step < 1 || step > spec.steps))
  ) {
    const forms = mine.map((s) => `stage:${s.name}, step:${s.name}/1 to ${s.steps}`).join(', ')
    throw new CascadeError('USAGE', `${option}: expected an offset, an ISO time, ${forms}, got ${text}`)
  }
  if (form === 'step') return { first: { stage, step }, last: { stage, step } }
  return { first: { stage, step: 1 }, last: { stage, step: spec.steps } }
}
