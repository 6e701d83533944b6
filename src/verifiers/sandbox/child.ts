import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Engine, FromChild, ToChild } from './messages.ts'
import type { SandboxLimits } from './sandbox.ts'

const require = createRequire(import.meta.url)
const here = import.meta.url

/** Packages that a child loads. */
const packages = [
  'pyodide',
  'quickjs-emscripten-core',
  '@jitl/quickjs-ng-wasmfile-release-sync',
  'sucrase',
  '@ts-morph/common',
  'lodash',
  'assert/',
  'util/',
]

/** What a child may read: the code of the sandbox and the installed packages, nothing else of the machine. */
function readable(): string[] {
  // The folder of `src`, in the sources and in the build, which lies one deeper below the package's own description.
  const root = fileURLToPath(new URL('../../../', here))
  const stores = packages.map((name) => {
    const file = require.resolve(name)
    const mark = `${sep}node_modules${sep}`
    return `${file.slice(0, file.indexOf(mark) + mark.length)}*`
  })
  return [
    `${root}src${sep}*`,
    join(root, 'package.json'),
    join(root, '..', 'package.json'),
    ...new Set(stores),
  ]
}

/** `--permission` lost its prefix with Node 22.13. */
function permissionFlag(): string {
  return process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
}

function nodeArgs(limits: SandboxLimits): string[] {
  const entry = fileURLToPath(new URL(here.endsWith('.ts') ? './worker/main.ts' : './worker/main.js', here))
  return [
    permissionFlag(),
    ...readable().map((path) => `--allow-fs-read=${path}`),
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${Math.max(128, limits.memoryMb)}`,
    '--stack-size=7000',
    '--no-addons',
    entry,
  ]
}

let mortal: readonly string[] | undefined

/**
 * A prefix by which a program ends with this process, where Linux has it (util-linux): a child in a loop reads no message that its parent has
 * gone. Elsewhere its program's time limit ends it, which one that catches the interrupt outlives.
 */
function endsWithParent(): readonly string[] {
  const prefix = ['setpriv', '--pdeathsig', 'KILL']
  mortal ??= spawnSync(prefix[0]!, [...prefix.slice(1), 'true']).status === 0 ? prefix : []
  return mortal
}

/** Where there is a shell: no core files, no files written, few open ones, and a stack as large as V8 is told. */
function command(limits: SandboxLimits): [string, string[]] {
  const args = nodeArgs(limits)
  if (process.platform === 'win32') return [process.execPath, args]
  const script = 'ulimit -c 0; ulimit -f 0; ulimit -n 256; ulimit -s 16384 || exit 71; exec "$0" "$@"'
  return ['/bin/sh', ['-c', script, ...endsWithParent(), process.execPath, ...args]]
}

/** What a child's end looked like. */
export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last words on its standard error. */
  readonly stderr: string
}

/** One process with one interpreter: its own process group, an empty environment, killed and never asked to stop. */
export class Child {
  readonly #process: ChildProcess
  #stderr = ''
  #killed = false
  #ended = false
  readonly end: Promise<ChildEnd>
  onMessage: (message: FromChild) => void = () => {}

  constructor(engine: Engine, limits: SandboxLimits) {
    const [file, args] = command(limits)
    this.#process = spawn(file, args, {
      env: {},
      cwd: sep,
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    })
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-4000)
    })
    this.#process.on('message', (message) => this.onMessage(message as FromChild))
    this.end = new Promise<ChildEnd>((resolve) => {
      this.#process.once('error', (error) =>
        resolve({ code: null, signal: null, stderr: `${error.message}\n${this.#stderr}` }),
      )
      this.#process.once('close', (code, signal) => resolve({ code, signal, stderr: this.#stderr }))
    }).then((end) => {
      this.#ended = true
      return end
    })
    this.send({ kind: 'open', engine, limits })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  get ended(): boolean {
    return this.#ended
  }

  /** This side killed it. */
  get killed(): boolean {
    return this.#killed
  }

  send(message: ToChild): void {
    // A failed write is followed by the end of the process, which is what its owner waits for.
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** Resident bytes; undefined where the system does not say. */
  residentBytes(): number | undefined {
    if (process.platform !== 'linux' || this.pid === undefined) return undefined
    try {
      return Number(readFileSync(`/proc/${this.pid}/statm`, 'latin1').split(' ')[1]) * 4096
    } catch {
      return undefined // gone in between: `end` tells
    }
  }

  kill(): void {
    this.#killed = true
    if (this.pid === undefined) return
    try {
      if (process.platform === 'win32') this.#process.kill('SIGKILL')
      else process.kill(-this.pid, 'SIGKILL')
    } catch {
      this.#process.kill('SIGKILL') // its group is not there yet, or no longer
    }
  }
}
