import { conformance } from '../log/conformance.ts'
import { MemoryLog } from './memory-log.ts'

/** What the operators are tested over must behave as the logs that they run over. */
conformance({
  name: 'the memory log',
  can: [],
  async open(options) {
    const log = new MemoryLog(options)
    return { log, [Symbol.asyncDispose]: () => log[Symbol.asyncDispose]() }
  },
})
