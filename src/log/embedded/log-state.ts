import { CascadeError } from '../../../topics/errors.ts'
import type { Table } from './environment.ts'
import {
  decodeTopicRow,
  nameOf,
  positionOf,
  positionRange,
  type TopicRow,
  takenRange,
  topicRange,
  unseal,
} from './layout.ts'
import { SettledSet } from './settled.ts'

/** What the appending process knows without reading: always what the last durable transaction left. */
export class LogState {
  readonly topics = new Map<string, TopicRow>()
  /** By topic, then by group. */
  readonly positions = new Map<string, Map<string, SettledSet>>()
  /** Inbox entries that have become records while their files may still be there. */
  readonly taken = new Set<string>()
  nextTopicId = 1

  /** @throws `LOG_CORRUPT`. */
  static load(table: Table): LogState {
    const state = new LogState()
    const names = new Map<number, string>()
    for (const { key, value } of table.getRange(topicRange)) {
      const name = nameOf(key)
      const row = decodeTopicRow(value, name)
      state.topics.set(name, row)
      names.set(row.id, name)
      state.nextTopicId = Math.max(state.nextTopicId, row.id + 1)
    }
    for (const { key, value } of table.getRange(positionRange)) {
      const { topicId, group } = positionOf(key)
      const topic = names.get(topicId)
      if (topic === undefined) {
        throw new CascadeError(
          'LOG_CORRUPT',
          `position of ${group}: expected a topic with id ${topicId}, got none`,
        )
      }
      const settled = SettledSet.decode(unseal(value, `position of ${group} in ${topic}`))
      state.#groups(topic).set(group, settled)
    }
    for (const key of table.getKeys(takenRange)) state.taken.add(nameOf(key))
    table.resetReadTxn()
    return state
  }

  /** A reader's position; a new one starts at the topic's earliest record and is not known before {@link register}. */
  position(group: string, topic: string): SettledSet {
    return this.positions.get(topic)?.get(group) ?? new SettledSet(this.topics.get(topic)?.earliest ?? 0)
  }

  register(group: string, topic: string, settled: SettledSet): void {
    this.#groups(topic).set(group, settled)
  }

  /** Keeps the readers that `other` knows, though they have settled nothing yet. */
  adoptReaders(other: LogState): void {
    for (const [topic, groups] of other.positions) {
      for (const group of groups.keys()) this.register(group, topic, this.position(group, topic))
    }
  }

  /** The lowest floor of all readers of a topic. */
  floor(topic: string): number {
    let floor = Number.POSITIVE_INFINITY
    for (const settled of this.positions.get(topic)?.values() ?? []) floor = Math.min(floor, settled.floor)
    return floor
  }

  #groups(topic: string): Map<string, SettledSet> {
    let groups = this.positions.get(topic)
    if (!groups) {
      groups = new Map()
      this.positions.set(topic, groups)
    }
    return groups
  }
}
