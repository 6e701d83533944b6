#!/usr/bin/env node
// Plain JavaScript, so that a Node that cannot run the sources can still start this. The package has only `dist`; a clone runs
// its sources, under the Node pinned in `node_modules` where the one at hand does not strip types.
import { spawn } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

const at = (path) => new URL(path, import.meta.url)
const built = at('../dist/src/')
const sources = at('../src/')
const pinned = at(`../node_modules/node/bin/node${process.platform === 'win32' ? '.exe' : ''}`)

if (!existsSync(at('../src/cli/main.ts'))) await start(built, 'js')
else if (process.features.typescript) await start(sources, 'ts')
else if (existsSync(pinned)) restart(fileURLToPath(pinned))
else {
  process.stderr.write(
    `error USAGE: Node ${process.versions.node} does not run TypeScript: run npm ci first, which brings one that does\n`,
  )
  process.exitCode = 2
}

async function start(root, extension) {
  // Up to Node 20 an AbortSignal warns of its eleventh listener; a run has one for each operator.
  if (Number.parseInt(process.versions.node, 10) < 22) setMaxListeners(0)
  // Where Node keeps compiled code by default: a second start, and every process that judges, need not strip types again.
  module.enableCompileCache?.()
  // A config imports `cascade-rl` from wherever it lies and gets the package that runs it.
  module.registerHooks?.({
    resolve: (specifier, context, next) =>
      specifier === 'cascade-rl'
        ? { url: new URL(`index.${extension}`, root).href, shortCircuit: true }
        : next(specifier, context),
  })
  const { main } = await import(new URL(`cli/main.${extension}`, root).href)
  process.exitCode = await main(process.argv.slice(2))
}

/** Becomes the child as far as a process can: its input and output, its signals, its end. */
function restart(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  // A terminal sends Ctrl-C to both. A second one would mean "do not wait", so it is passed on only where there is no terminal.
  const terminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY)
  const pass = (signal) => {
    if (signal !== 'SIGINT' || !terminal) child.kill(signal)
  }
  for (const signal of signals) process.on(signal, pass)
  child.on('error', (error) => {
    process.stderr.write(`error USAGE: ${node} does not start: ${error.message}\n`)
    process.exitCode = 2
  })
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, pass)
    if (signal) process.kill(process.pid, signal)
    else process.exitCode = code
  })
}
