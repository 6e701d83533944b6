import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { CascadeError } from '../../../topics/index.ts'
import { CompilingSandbox } from './compiling.ts'
import { HandOut } from './hand-out.ts'
import { descriptorTransport, javascriptDriver, pythonDriver } from './native-drivers.ts'
import { NativeReport } from './native-report.ts'
import { checkBubblewrap, type Walls, wallsFor } from './native-walls.ts'
import { findProcessLimit, limitInside, ProcessGroup, type ProcessLimit } from './process-limit.ts'
import { defaultLimits, type Execution, type Program, type Sandbox, type SandboxLimits } from './sandbox.ts'
import { callText as javascriptCall } from './worker/javascript-literal.ts'
import { callExpression as pythonCall } from './worker/python-literal.ts'

/** What an interpreter takes by itself. */
const interpreterMb = { python: 128, javascript: 512 }

export interface BubblewrapSandboxOptions {
  readonly jobs: number
  readonly limits?: Partial<SandboxLimits>
}

/**
 * Programs run in the machine's own python3 and node, each in a process tree behind the kernel's namespaces: no network, no files but
 * the interpreter's, no environment, nothing left afterwards. Linux with bubblewrap only. The number of processes is limited where the system
 * has a way to that ({@link findProcessLimit}).
 * @throws `CONFIG_INVALID` where that is missing
 */
export function openBubblewrapSandbox(options: BubblewrapSandboxOptions): Sandbox {
  checkBubblewrap()
  const pool = { jobs: options.jobs, limits: { ...defaultLimits, ...options.limits } }
  return new CompilingSandbox(new BubblewrapSandbox(pool.jobs, pool.limits, findProcessLimit()), {
    ...pool,
    strict: false,
  })
}

/** Room for one program. */
interface Place {
  readonly group?: ProcessGroup
}

class BubblewrapSandbox implements Sandbox {
  readonly #turns: HandOut<Place>
  readonly #places: readonly Place[]
  readonly #inside: ReturnType<typeof limitInside>
  readonly #limits: SandboxLimits
  readonly #walls: Partial<Record<'python' | 'javascript', Walls>> = {}
  readonly #closing = new AbortController()

  constructor(jobs: number, limits: SandboxLimits, processes: ProcessLimit) {
    this.#places = Array.from({ length: jobs }, () =>
      processes.kind === 'cgroup' ? { group: new ProcessGroup(processes.parent, randomUUID()) } : {},
    )
    this.#turns = new HandOut(this.#places)
    this.#inside = limitInside(processes)
    this.#limits = limits
  }

  run(program: Program, signal: AbortSignal, began?: () => void): Promise<Execution> {
    const both = AbortSignal.any([signal, this.#closing.signal])
    return this.#turns.hold(both, (place) => {
      began?.()
      return this.#once(program, place, both)
    })
  }

  async #once(program: Program, place: Place, signal: AbortSignal): Promise<Execution> {
    const child = this.#spawn(program, place)
    const report = new NativeReport(this.#limits.outputChars)
    let stopped: 'timeout' | 'output' | 'abort' | undefined
    const stop = (why: typeof stopped) => {
      stopped ??= why
      kill(child)
    }
    const abort = () => stop('abort')
    signal.addEventListener('abort', abort)
    const timer = setTimeout(() => stop('timeout'), program.timeoutMs)
    try {
      feed(child, program)
      report.listen(child, () => stop('output'))
      const { code, by, error } = await ended(child)
      signal.throwIfAborted()
      if (error) throw broken(error.message)
      return report.execution(stopped === 'abort' ? undefined : stopped, code, by, broken)
    } finally {
      clearTimeout(timer)
      place.group?.empty()
      signal.removeEventListener('abort', abort)
    }
  }

  #spawn(program: Program, { group }: Place): ChildProcess {
    const engine = program.language === 'python' ? 'python' : 'javascript'
    this.#walls[engine] ??= wallsFor(engine)
    const { args, interpreter } = this.#walls[engine]
    const memoryKb = (this.#limits.memoryMb + interpreterMb[engine]) * 1024
    const command =
      engine === 'python'
        ? [interpreter, '-I', '-c', pythonDriver(descriptorTransport.python)]
        : [
            interpreter,
            `--max-old-space-size=${this.#limits.memoryMb}`,
            '--no-warnings',
            '-e',
            javascriptDriver(descriptorTransport.javascript),
          ]
    const join = '[ -z "$1" ] || echo $$ > "$1" || exit 71; shift; '
    // Data, and not address space, which V8 reserves by the terabyte.
    const limits = `ulimit -c 0; ulimit -n 256; ulimit -f 131072; ulimit -d ${memoryKb}; ${join}exec bwrap "$@"`
    const { walls, command: inside } = this.#inside
    const whole = [group?.door ?? '', ...args, ...walls, '--', ...inside, ...command]
    return spawn('/bin/sh', ['-c', limits, 'sh', ...whole], {
      env: { PATH: process.env.PATH },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(broken('closed while a program waited or ran'))
    await this.#turns.idle()
    await Promise.all(this.#places.map(async ({ group }) => group?.remove()))
  }
}

/** The program on descriptor 3, its input on 0. A program need not read either. */
function feed(child: ChildProcess, program: Program): void {
  const call = program.language === 'python' ? pythonCall : javascriptCall
  const steps = program.steps.map((step) =>
    step.kind === 'call' ? { kind: 'call', source: call(step.name, step.args) } : step,
  )
  const unread = () => {} // the pipe breaks when its reader is gone, which the exit tells
  ;(child.stdio[3] as Writable).on('error', unread).end(JSON.stringify({ ...program, steps }))
  child.stdin!.on('error', unread).end(program.stdin)
  ;(child.stdio[4] as Readable).on('error', unread)
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL') // its group is not there yet, or no longer
  }
}

function ended(
  child: ChildProcess,
): Promise<{ code: number | null; by: NodeJS.Signals | null; error?: Error }> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, by: null, error }))
    child.once('close', (code, by) => resolve({ code, by }))
  })
}

function broken(message: string): CascadeError {
  return new CascadeError('VERIFIER_FAILED', `sandbox: ${message}`, { retryable: true })
}
