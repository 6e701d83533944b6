import type { EngineInstance, FromChild, ToChild } from '../messages.ts'
import type { Execution } from '../sandbox.ts'
import { lockDown, prepare } from './lockdown.ts'
import { MemoryLimit } from './memory-limit.ts'

// Started by `child.ts` with an IPC channel. Whatever fails here ends the process: the parent sees that and takes another one.

const channel = prepare()
const memory = new MemoryLimit()
let engine: EngineInstance | undefined

async function open(message: ToChild & { kind: 'open' }): Promise<void> {
  if (message.engine === 'python') {
    const { openPython } = await import('./python.ts')
    engine = await openPython(message.limits, memory)
  } else if (message.engine !== 'javascript') {
    const { openCompiler } = await import('./compiler.ts')
    engine = openCompiler(message.engine === 'compile-recover')
  } else {
    const { openJavaScript } = await import('./javascript.ts')
    engine = await openJavaScript(message.limits, memory)
  }
  lockDown()
  channel.send({ kind: 'ready' } satisfies FromChild)
}

function run(message: ToChild & { kind: 'run' }): void {
  let execution: Execution
  try {
    execution = engine!.run(message.program)
  } catch (error) {
    // The interpreter itself gave up in the middle, for the program's sake: its state is not to be trusted any more.
    const { name, message: words } = error as Error
    execution = { end: 'crash', error: { name, message: words }, steps: [], stdout: '' }
    channel.send({ kind: 'done', execution, retire: true } satisfies FromChild)
    return
  }
  // Restored before the answer: the next program's time never pays for this one's dirt.
  const retire = !engine!.restore()
  channel.send({ kind: 'done', execution, retire } satisfies FromChild)
}

channel.receive((message) => {
  const given = message as ToChild
  if (given.kind === 'run') run(given)
  else
    open(given).catch((error: unknown) => {
      channel.fail(error)
    })
})
