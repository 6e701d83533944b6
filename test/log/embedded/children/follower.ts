import { follow } from '../../../../streams/follow.ts'
import { notes } from '../../conformance/subject.ts'
import { read } from '../folder.ts'
import { say } from './say.ts'

/** Follows a topic live until it has `to` records; says `open`, then how many it got in order, and how many waits that took. */
const [dir, to] = process.argv.slice(2)
const log = await read(dir!)
const enough = new AbortController()
let count = 0
say('open')
try {
  await follow(log, notes, { from: 0, signal: enough.signal }, (record) => {
    if (record.offset !== count || record.value.id !== count)
      throw new Error(`got ${record.value.id} for ${count}`)
    count++
    if (count === 1) say('first')
    if (count === Number(to)) enough.abort()
  })
} catch (error) {
  if (!enough.signal.aborted) throw error
}
await log.close()
say(`followed ${count}`)
