import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Program } from '../../../src/verifiers/sandbox/index.ts'
import { childrenOf, statusOf } from '../../processes.ts'

const sandbox = new URL('../../../src/verifiers/sandbox/index.ts', import.meta.url).href
const canEnd = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0

/** Catches the interrupt of its time limit, too: nothing but its end stops it. */
const stubborn = `
while True:
    try:
        while True: pass
    except BaseException: pass
`

const program: Program = {
  language: 'python',
  source: stubborn,
  steps: [],
  stdin: '',
  modules: [],
  timeoutMs: 60_000,
  stopAtFailure: true,
}

test.runIf(canEnd)(
  'a program in a loop ends when the process that asked for it is killed',
  async () => {
    const script = `
    const { openWasmSandbox } = await import(${JSON.stringify(sandbox)})
    const sandbox = openWasmSandbox({ jobs: 1 })
    void sandbox.run(${JSON.stringify(program)}, new AbortController().signal)
    setTimeout(() => console.log('under way'), 5000)
  `
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(parent.stdout, 'data')
    const children = childrenOf(parent.pid!)
    expect(children.length).toBeGreaterThan(0)
    parent.kill('SIGKILL')
    while (children.some((pid) => statusOf(pid) !== undefined)) await new Promise((r) => setTimeout(r, 20))
  },
  60_000,
)
