import { follow } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { type Checkpoint, gradientBatches, type Update, updates } from '../../../topics/index.ts'
import type { RebuiltStep } from './rebuild.ts'
import { sha256 } from './rebuild.ts'

/** Whether a rebuilt thing is what the run recorded; undefined where its record is not there any more. */
export interface Comparison {
  readonly batch: boolean | undefined
  readonly update: boolean | undefined
  readonly weights: boolean | undefined
}

/** What the run has recorded of its steps, as far as it is still there. Read after the rebuilding, which must not see it. */
export class Recorded {
  readonly #batches = new Map<string, string>()
  readonly #updates = new Map<string, string>()
  readonly #weights = new Map<number, string>()

  static async read(
    log: TopicLog,
    checkpoints: readonly Checkpoint[],
    steps: readonly RebuiltStep[],
    signal: AbortSignal,
  ): Promise<Recorded> {
    const recorded = new Recorded()
    const wanted = new Set(steps.map(({ closed }) => `${closed.stage}/${closed.step}`))
    for (const { version, weightsHash } of checkpoints) recorded.#weights.set(version, weightsHash)
    const read = async (topic: string) => ({
      from: await log.offset(topic, 'earliest'),
      until: 'end' as const,
      signal,
    })
    await follow(log, gradientBatches, await read(gradientBatches.name), ({ value }) => {
      if (wanted.has(value.id)) recorded.#batches.set(value.id, sha256(gradientBatches.encode(value)))
    })
    await follow(log, updates, await read(updates.name), ({ value }) => {
      if (wanted.has(value.id)) recorded.#updates.set(value.id, measured(value))
    })
    return recorded
  }

  compare({ closed, batchHash, update, weightsHash }: RebuiltStep): Comparison {
    const id = `${closed.stage}/${closed.step}`
    const same = (there: string | undefined, rebuilt: string) =>
      there === undefined ? undefined : there === rebuilt
    return {
      batch: same(this.#batches.get(id), batchHash),
      update: same(this.#updates.get(id), measured(update)),
      weights: same(this.#weights.get(closed.version), weightsHash),
    }
  }
}

/** Without what a clock or the log's own offsets put there. */
function measured(update: Update): string {
  const { durationMs: _, gradientBatchOffset: __, ...rest } = update
  return JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)))
}
