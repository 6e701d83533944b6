import { recordAt } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { CascadeError, type StageSpec, type Topic } from '../../../topics/index.ts'

export interface StepOf {
  readonly stage: string
  readonly step: number
}

/** The place of a step in its run: the later, the higher. Records of a domain come in this order, since no step begins before the one before it is closed. */
export type StepOrder = (of: StepOf) => number

const stepsAtMost = 2 ** 32

/** @throws `STREAM_PROTOCOL` for a stage that the run's config does not have */
export function stepOrder(stages: readonly StageSpec[]): StepOrder {
  const index = new Map(stages.map((s, i) => [s.name, i]))
  return ({ stage, step }) => {
    const at = index.get(stage)
    if (at === undefined) {
      throw new CascadeError('STREAM_PROTOCOL', `expected a stage of the run's config, got ${stage}`)
    }
    return at * stepsAtMost + step
  }
}

/** The first offset that is there whose record belongs to `place` or a later one; the end where none does. */
export async function firstOffset<T extends StepOf>(
  log: TopicLog,
  topic: Topic<T>,
  order: StepOrder,
  place: number,
): Promise<number> {
  let low = await log.offset(topic.name, 'earliest')
  let high = await log.offset(topic.name, 'latest')
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const record = await recordAt(log, topic, middle)
    if (!record)
      throw new CascadeError('LOG_OFFSET_GONE', `topic ${topic.name} offset ${middle}: is not there`)
    if (order(record.value) >= place) high = middle
    else low = middle + 1
  }
  return low
}

/** As {@link firstOffset}, refused where a part of that place may be gone. @throws `LOG_OFFSET_GONE` naming topic and offsets */
export async function wholeFrom<T extends StepOf>(
  log: TopicLog,
  topic: Topic<T>,
  order: StepOrder,
  place: number,
  what: string,
): Promise<number> {
  const at = await firstOffset(log, topic, order, place)
  const earliest = await log.offset(topic.name, 'earliest')
  if (earliest > 0 && at === earliest) throw removed(topic.name, earliest, what)
  return at
}

export function removed(topic: string, earliest: number, what: string): CascadeError {
  return new CascadeError(
    'LOG_OFFSET_GONE',
    `topic ${topic}: ${what} begins, or may begin, among offsets 0 to ${earliest - 1}, which retention has removed; offset ${earliest} is the first there`,
    { context: { topic, earliest } },
  )
}
