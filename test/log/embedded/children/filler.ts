import { setTimeout } from 'node:timers/promises'
import { isCascadeError } from '../../../../topics/index.ts'
import { note } from '../../conformance/subject.ts'
import { append } from '../folder.ts'
import { say } from './say.ts'

/**
 * Appends notes, several at a time, until the log is full and goes on when it is not: says `open`, `ack n` for
 * each durable one, `full` with the error's message, and `done` at 30 acknowledged after it was full.
 */
const [dir] = process.argv.slice(2)
const log = await append(dir!)
let n = 0
let after = 0
let full = false
say('open')
while (after < 30) {
  const batch = [n, n + 1, n + 2]
  const results = await Promise.allSettled(
    batch.map((id) => log.commit({ append: [note(id, 'x'.repeat(20_000)), note(id, 'twin')], settle: [] })),
  )
  // They share a transaction, so they share its fate.
  if (results.every((result) => result.status === 'fulfilled')) {
    for (const id of batch) say(`ack ${id}`)
    n += batch.length
    if (full) after += batch.length
    continue
  }
  for (const result of results) {
    if (result.status === 'fulfilled') throw new Error('one of them was written')
    if (!isCascadeError(result.reason, 'LOG_FULL')) throw result.reason
    if (!full) say(`full ${result.reason.message}`)
    full = true
  }
  await setTimeout(20)
}
say('done')
setInterval(() => undefined, 1000)
