import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { logFolder } from '../../../src/cli/open-run.ts'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import type { Append, TopicLog } from '../../../streams/ports.ts'
import { type Checkpoint, checkpoints, topicNamed } from '../../../topics/index.ts'

const clock = { now: () => Date.now() }

export async function reading<T>(run: string, use: (log: TopicLog) => Promise<T>): Promise<T> {
  await using log = await openLog({ dir: logFolder(run), mode: 'read', clock })
  return await use(log)
}

export async function valuesOf<T>(run: string, topic: Parameters<typeof follow<T>>[1]): Promise<T[]> {
  const values: T[] = []
  await reading(run, (log) =>
    follow(log, topic, { from: 0, until: 'end', signal: new AbortController().signal }, (r) => {
      values.push(r.value)
    }),
  )
  return values
}

/**
 * A copy of a run with nothing in it but its manifest, one checkpoint, and the topics that a replay may read; offsets are the same. A
 * record may be changed on the way.
 */
export async function stripped(
  run: string,
  to: string,
  checkpoint: Checkpoint,
  change: (topic: string, value: unknown, offset: number) => unknown = (_, value) => value,
): Promise<void> {
  await mkdir(to)
  await cp(join(run, 'run.json'), join(to, 'run.json'))
  await cp(join(run, checkpoint.path), join(to, checkpoint.path), { recursive: true })
  await using copy = await openLog({ dir: logFolder(to), mode: 'append', clock, mapBytes: 2 ** 28 })
  await reading(run, async (log) => {
    for (const { name } of await log.topics()) {
      if (!/^(control|demonstrations|prompts\..*|rollouts\..*|rewards\..*)$/.test(name)) continue
      const topic = topicNamed(name)
      const append: Append[] = []
      await follow(log, topic, { from: 0, until: 'end', signal: new AbortController().signal }, (r) => {
        append.push({ topic, value: change(name, r.value, r.offset) })
      })
      await copy.commit({ append, settle: [] })
    }
  })
}

export const committed = (run: string): Promise<Checkpoint[]> => valuesOf(run, checkpoints)
