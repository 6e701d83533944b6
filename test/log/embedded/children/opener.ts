import { setTimeout } from 'node:timers/promises'
import { read } from '../folder.ts'
import { say } from './say.ts'

/** Opens the log to read and closes it, again and again; says `open` when it has begun. */
const [dir] = process.argv.slice(2)
for (let first = true; ; first = false) {
  await (await read(dir!)).close()
  // Else the writer, which lets openers go first, would hardly ever find none.
  await setTimeout(1)
  if (first) say('open')
}
