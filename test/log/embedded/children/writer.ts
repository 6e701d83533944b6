import { notes, others } from '../../conformance/subject.ts'
import { append } from '../folder.ts'
import { say } from './say.ts'

/**
 * Appends note n to two topics, for n from where the log ends to `to`, and settles the notes that are durable by
 * then; the second topic's record names them. A few commits are always under way. Says `open`, then `ack n` once
 * n is durable, then `done`, and stays.
 */
const [dir, to, texts] = process.argv.slice(2)
const log = await append(dir!)
let n = await log.offset('notes', 'latest')
const { floor, beyond } = await log.position('g', 'notes')
const settled = new Set(beyond)
let ready = Array.from({ length: n - floor }, (_, i) => floor + i).filter((offset) => !settled.has(offset))
say(`open ${log.epoch}`)

async function write(): Promise<void> {
  while (n < Number(to)) {
    const id = n++
    const value = { id, text: 'x'.repeat((id * 7919) % Number(texts)) }
    const settle = ready.map((offset) => ({ group: 'g', topic: 'notes', offset }))
    const headers = { settles: ready.join(' ') }
    ready = []
    await log.commit({
      append: [
        { topic: notes, value },
        { topic: others, value, headers },
      ],
      settle,
    })
    say(`ack ${id}`)
    ready.push(id)
  }
}

await Promise.all([write(), write(), write()])
say('done')
setInterval(() => undefined, 1000)
