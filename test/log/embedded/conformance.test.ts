import type { EmbeddedLog } from '../../../src/log/index.ts'
import { conformance } from '../conformance.ts'
import { append, read, temporaryFolder } from './folder.ts'

const maxRecordBytes = 1_000_000

conformance({
  name: 'the embedded log',
  can: ['clock', 'reopen', 'reader', 'retain', 'limit'],
  async open({ window } = {}) {
    const folder = temporaryFolder()
    const clock = { time: 1000 }
    const options = { clock: { now: () => clock.time }, window, maxRecordBytes, pollMs: 5 }
    let log: EmbeddedLog = await append(folder.path, options)
    return {
      log,
      clock,
      maxRecordBytes,
      async reopen() {
        await log.close()
        log = await append(folder.path, options)
        return log
      },
      reader: () => read(folder.path, options),
      async retain(topic) {
        await log.retain([topic])
      },
      async [Symbol.asyncDispose]() {
        await log.close()
        folder[Symbol.dispose]()
      },
    }
  },
})
