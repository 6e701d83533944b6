import { CascadeError } from '../../../topics/index.ts'
import { Child, type ChildEnd } from './child.ts'
import type { Engine } from './messages.ts'
import type { SandboxLimits } from './sandbox.ts'

/** How long an interpreter may take to load. */
const openMs = 60_000

/** One interpreter that has loaded, and what its process held then. */
export interface Ready {
  readonly child: Child
  readonly baseBytes: number
}

/**
 * Starts children. Python takes more than a second to load, so that once there is one, another is kept loaded: a child that had to be
 * killed is replaced at once.
 */
export class Starter {
  readonly #limits: SandboxLimits
  #spare: Promise<Ready> | undefined
  #closed = false

  constructor(limits: SandboxLimits) {
    this.#limits = limits
  }

  async take(engine: Engine): Promise<Ready> {
    if (engine !== 'python') return this.#start(engine)
    const spare = this.#spare
    this.#spare = undefined
    // A spare that died while it waited is no loss: the next one is started afresh.
    const ready = (await spare?.catch(() => undefined)) ?? (await this.#start(engine))
    this.#keep()
    return ready.child.ended ? this.#start(engine) : ready
  }

  #keep(): void {
    if (this.#spare || this.#closed) return
    const spare = this.#start('python')
    spare.catch(() => {}) // told by the program that needs it
    this.#spare = spare
  }

  async #start(engine: Engine): Promise<Ready> {
    if (this.#closed) throw broken('closed')
    const child = new Child(engine, this.#limits)
    const timer = setTimeout(() => child.kill(), openMs)
    try {
      const end = await Promise.race([
        child.end,
        new Promise<undefined>((resolve) => {
          child.onMessage = (message) => {
            if (message.kind === 'ready') resolve(undefined)
          }
        }),
      ])
      if (end) throw broken(`the ${engine} interpreter did not start: ${describe(end)}`)
      return { child, baseBytes: child.residentBytes() ?? 0 }
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const spare = await this.#spare?.catch(() => undefined)
    spare?.child.kill()
    await spare?.child.end
  }
}

export function describe(end: ChildEnd): string {
  const how = end.signal ? `signal ${end.signal}` : `exit code ${end.code}`
  const words = end.stderr.trim().slice(0, 500)
  return words ? `${how}: ${words}` : how
}

/** A failure of the sandbox, never a verdict on the program. */
export function broken(message: string): CascadeError {
  return new CascadeError('VERIFIER_FAILED', `sandbox: ${message}`, { retryable: true })
}
