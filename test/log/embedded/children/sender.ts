import { submit } from '../../../../src/log/index.ts'
import { say } from './say.ts'

/** Submits commands n from `from` to `to`; says `begin n time` before and `ack n id` after each. */
const [dir, from, to, filler] = process.argv.slice(2)
for (let n = Number(from); n < Number(to); n++) {
  say(`begin ${n} ${Date.now()}`)
  const id = await submit(dir!, 'control', { n, filler: 'x'.repeat(Number(filler)) })
  say(`ack ${n} ${id}`)
}
say('done')
setInterval(() => undefined, 1000)
