import { notes } from '../../conformance/subject.ts'
import { append } from '../folder.ts'
import { say } from './say.ts'

/** Turns each command of the inbox into a record; says `open`, then `took n time` once that is durable. */
const [dir] = process.argv.slice(2)
const log = await append(dir!)
say(`open ${log.epoch}`)
for await (const { id, payload } of log.inbox(new AbortController().signal)) {
  const { n, filler } = payload as { n: number; filler: string }
  await log.commit({ append: [{ topic: notes, value: { id: n, text: filler } }], settle: [], inbox: [id] })
  say(`took ${n} ${Date.now()}`)
}
