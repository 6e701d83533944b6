import type { Envelope, TopicLog } from '../../../streams/ports.ts'
import type { Topic } from '../../../topics/index.ts'

/** A topic of which the next event can be looked at before it is taken. */
export interface Lane<E> {
  readonly head: E | undefined
  take(): void
  /** Reads on where there is no head. True where there is one now that was not there before. */
  look(): Promise<boolean>
  /** Resolves once there is more to read. @throws the signal's reason */
  wait(signal: AbortSignal): Promise<void>
}

export function lane<T, E>(log: TopicLog, topic: Topic<T>, event: (record: Envelope<T>) => E): Lane<E> {
  let next = 0
  let page: readonly Envelope<T>[] = []
  let at = 0
  let head: E | undefined
  return {
    get head() {
      return head
    },
    take() {
      const record = page[++at]
      head = record && event(record)
    },
    async look() {
      if (head !== undefined) return false
      const fetched = await log.fetch(topic, next, { records: 256, bytes: 8 * 1024 * 1024 })
      next = fetched.next
      page = fetched.records
      at = 0
      const [first] = page
      head = first && event(first)
      return head !== undefined
    },
    wait: (signal) => log.wait(topic.name, next, signal),
  }
}

/**
 * Takes the events of all lanes in one order, whenever each is read: `before` says of two heads whether the first comes before
 * the second, and no event is taken before one that was in the log earlier and that it yields to.
 * Returns at the end of all lanes where `until` is `end`, otherwise only by the signal, whose reason it throws.
 */
export async function takeInOrder<E>(
  lanes: readonly Lane<E>[],
  before: (a: E, b: E) => boolean,
  options: { until?: 'end'; signal: AbortSignal },
  take: (event: E) => void,
): Promise<void> {
  const { signal, until } = options
  for (;;) {
    signal.throwIfAborted()
    // A lane that was empty when another's head was read may have got what comes before that head.
    while (await anyNew(lanes));
    let first: Lane<E> | undefined
    for (const l of lanes) {
      if (l.head === undefined) continue
      if (first?.head === undefined || before(l.head, first.head)) first = l
    }
    if (first?.head !== undefined) {
      take(first.head)
      first.take()
    } else if (until === 'end') return
    else await more(lanes, signal)
  }
}

async function anyNew<E>(lanes: readonly Lane<E>[]): Promise<boolean> {
  let found = false
  for (const l of lanes) if (await l.look()) found = true
  return found
}

async function more<E>(lanes: readonly Lane<E>[], signal: AbortSignal): Promise<void> {
  const others = new AbortController()
  const either = AbortSignal.any([signal, others.signal])
  try {
    await Promise.race(lanes.map((l) => l.wait(either)))
  } finally {
    others.abort()
  }
}
