import { CascadeError } from '../../../topics/index.ts'
import type { ChildEnd } from './child.ts'
import { HandOut } from './hand-out.ts'
import type { Engine } from './messages.ts'
import type { Execution, Program, Sandbox, SandboxLimits } from './sandbox.ts'
import { broken, describe, type Ready, Starter } from './starter.ts'

/** How long after a program's own limit its process is killed: within it the interpreter ends the program itself and lives on. */
const graceMs = 400
const pollMs = 100
/** What the process may hold beyond its interpreter and the program's memory: copies, the host's heap. */
const slackBytes = 256 * 2 ** 20

type Ended =
  | { readonly kind: 'execution'; readonly execution: Execution }
  /** The child died on its own. */
  | { readonly kind: 'death'; readonly end: ChildEnd }

export interface PoolOptions {
  /** Programs that run at the same time. */
  readonly jobs: number
  readonly limits: SandboxLimits
  /** Which child a program goes to. @default the interpreter of its language */
  readonly engineFor?: (program: Program) => Engine
}

function interpreterOf(program: Program): Engine {
  return program.language === 'python' ? 'python' : 'javascript'
}

/** A place for one program at a time, with at most one child per interpreter. */
class Slot {
  readonly #limits: SandboxLimits
  readonly #starter: Starter
  readonly #children = new Map<Engine, Promise<Ready>>()
  #closed = false

  constructor(limits: SandboxLimits, starter: Starter) {
    this.#limits = limits
    this.#starter = starter
  }

  /** Starts the child where there is none. */
  warm(engine: Engine): Promise<Ready> {
    const present = this.#children.get(engine)
    if (present) return present
    const ready = this.#starter.take(engine)
    this.#children.set(engine, ready)
    const forget = () => {
      if (this.#children.get(engine) === ready) this.#children.delete(engine)
    }
    ready.then(({ child }) => child.end).then(forget, forget)
    return ready
  }

  async run(program: Program, engine: Engine, signal: AbortSignal, began?: () => void): Promise<Execution> {
    // A child that dies under a program may have been killed from outside: the program is the reason only if it does so again.
    let last: ChildEnd | undefined
    for (let attempt = 0; attempt < 2; attempt++) {
      const ready = await this.warm(engine)
      signal.throwIfAborted()
      began?.()
      const ended = await this.#once(ready, engine, program, signal)
      if (ended.kind === 'execution') return ended.execution
      last = ended.end
    }
    if (/heap out of memory|Array buffer allocation failed/.test(last!.stderr)) return died('memory', last!)
    if (last!.signal === 'SIGKILL' || last!.signal === 'SIGTERM' || last!.code === 0) {
      throw broken(`the ${engine} interpreter was ended from outside, twice: ${describe(last!)}`)
    }
    return died('crash', last!)
  }

  async #once(ready: Ready, engine: Engine, program: Program, signal: AbortSignal): Promise<Ended> {
    const { child } = ready
    const limit = ready.baseBytes + this.#limits.memoryMb * 2 ** 20 + slackBytes
    let verdict: 'timeout' | 'memory' | undefined
    const stop = (why: typeof verdict) => {
      verdict ??= why
      child.kill()
    }
    const abort = () => stop(undefined)
    signal.addEventListener('abort', abort)
    const timer = setTimeout(() => stop('timeout'), program.timeoutMs + graceMs)
    const poll = setInterval(() => {
      if ((child.residentBytes() ?? 0) > limit) stop('memory')
    }, pollMs)
    try {
      const answer = new Promise<Ended>((resolve) => {
        child.onMessage = (message) => {
          if (message.kind !== 'done') return
          if (message.retire) child.kill()
          resolve({ kind: 'execution', execution: message.execution })
        }
        child.send({ kind: 'run', program })
      })
      const ended = await Promise.race([answer, child.end.then((end): Ended => ({ kind: 'death', end }))])
      if (ended.kind === 'death') {
        signal.throwIfAborted()
        if (verdict) return { kind: 'execution', execution: { end: verdict, steps: [], stdout: '' } }
      }
      return ended
    } finally {
      clearTimeout(timer)
      clearInterval(poll)
      signal.removeEventListener('abort', abort)
      // The next one loads while others are judged.
      if (child.killed) this.#replace(engine)
    }
  }

  #replace(engine: Engine): void {
    this.#children.delete(engine)
    if (!this.#closed) this.warm(engine).catch(() => {}) // the run that needs it tries again and reports
  }

  async close(): Promise<void> {
    this.#closed = true
    const all = [...this.#children.values()]
    this.#children.clear()
    for (const ready of await Promise.allSettled(all)) {
      if (ready.status === 'rejected') continue
      ready.value.child.kill()
      await ready.value.child.end
    }
  }
}

function died(end: 'memory' | 'crash', how: ChildEnd): Execution {
  return { end, error: { name: 'Crash', message: describe(how) }, steps: [], stdout: '' }
}

/** A fixed number of supervised processes; programs beyond it wait in order of arrival. */
export class ProcessPool implements Sandbox {
  readonly #slots: HandOut<Slot>
  readonly #all: readonly Slot[]
  readonly #starter: Starter
  readonly #closing = new AbortController()
  readonly #engineFor: (program: Program) => Engine

  constructor(options: PoolOptions) {
    this.#engineFor = options.engineFor ?? interpreterOf
    this.#starter = new Starter(options.limits)
    this.#all = Array.from({ length: options.jobs }, () => new Slot(options.limits, this.#starter))
    this.#slots = new HandOut(this.#all)
  }

  /** Loads an interpreter in every slot ahead of the first program. */
  async warm(engine: Engine): Promise<void> {
    await Promise.all(this.#all.map((slot) => slot.warm(engine)))
  }

  run(program: Program, signal: AbortSignal, began?: () => void): Promise<Execution> {
    const both = AbortSignal.any([signal, this.#closing.signal])
    return this.#slots.hold(both, (slot) => slot.run(program, this.#engineFor(program), both, began))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(
      new CascadeError('VERIFIER_FAILED', 'sandbox: closed while a program waited or ran', {
        retryable: true,
      }),
    )
    await this.#slots.idle()
    await Promise.all([this.#starter.close(), ...this.#all.map((slot) => slot.close())])
  }
}
