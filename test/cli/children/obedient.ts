import { receivedCommands } from '../../../src/cli/control-inbox.ts'
import { logFolder } from '../../../src/cli/open-run.ts'
import { openLog } from '../../../src/log/index.ts'
import { control } from '../../../topics/index.ts'

/** A process that writes a run and obeys `stop`, `pause` and `resume`, or, told `deaf`, does not. */
const [dir, deaf] = process.argv.slice(2)
const clock = { now: () => Date.now() }
const log = await openLog({ dir: logFolder(dir!), mode: 'append', clock, mapBytes: 2 ** 26 })
process.stdout.write('ready\n')
if (deaf) await new Promise((resolve) => setTimeout(resolve, 60_000))
let seq = 0
for await (const { id, command } of receivedCommands(log, new AbortController().signal)) {
  const value = { type: 'command', command, id, epoch: log.epoch, seq: seq++ } as const
  await log.commit({ append: [{ topic: control, value }], settle: [], inbox: [id] })
  if (command === 'stop') break
}
await log.close()
