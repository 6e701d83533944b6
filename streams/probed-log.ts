import type { Probe, TopicLog } from './ports.ts'

/** The same log, with a probe on both sides of every commit: tests end the process there. */
export function probedLog(log: TopicLog, probe: Probe): TopicLog {
  return {
    fetch: (topic, from, limit) => log.fetch(topic, from, limit),
    wait: (topic, offset, signal) => log.wait(topic, offset, signal),
    position: (group, topic) => log.position(group, topic),
    offset: (topic, at) => log.offset(topic, at),
    topics: () => log.topics(),
    window: log.window,
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
    async commit(tx) {
      probe('commit:before')
      const committed = await log.commit(tx)
      probe('commit:after')
      return committed
    },
  }
}
