import { setTimeout } from 'node:timers/promises'
import { Child } from '../child.ts'
import { say } from './say.ts'

/** Starts a follower that never ends by itself, says its process id once it follows, and stays. */
const [dir] = process.argv.slice(2)
const follower = new Child('follower.ts', [dir!, '1000000'])
await follower.line((line) => line === 'first')
say(`follower ${follower.pid}`)
await setTimeout(60_000)
