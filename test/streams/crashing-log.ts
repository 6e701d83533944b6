import type { Commit, Committed, TopicLog } from '../../streams/ports.ts'
import type { MemoryLog } from './memory-log.ts'

export class Crash extends Error {}

/** A log whose process dies at one of its commits: before it is written, or after, when nobody hears of it any more. */
export function crashingLog(
  log: MemoryLog,
  at: number,
  when: 'before' | 'after',
): TopicLog & { readonly crashed: boolean } {
  let left = at
  let crashed = false
  const alive = () => {
    if (crashed) throw new Crash('the process is gone')
  }
  return {
    window: log.window,
    get crashed() {
      return crashed
    },
    async fetch(topic, from, limit) {
      alive()
      return log.fetch(topic, from, limit)
    },
    wait: (topic, offset, signal) => log.wait(topic, offset, signal),
    position: (group, topic) => log.position(group, topic),
    offset: (topic, start) => log.offset(topic, start),
    topics: () => log.topics(),
    async commit(tx: Commit): Promise<Committed> {
      alive()
      if (left > 0) {
        left -= 1
        return log.commit(tx)
      }
      crashed = true
      if (when === 'after') await log.commit(tx)
      throw new Crash('killed')
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}
