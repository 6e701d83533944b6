/** A fixed number of things, each with one holder at a time; who finds none waits in order of arrival. */
export class HandOut<T> {
  readonly #count: number
  readonly #free: T[]
  readonly #waiting: ((thing: T) => void)[] = []

  constructor(things: readonly T[]) {
    this.#count = things.length
    this.#free = [...things]
  }

  /**
   * Has a thing until the use of it ends, which is to heed the signal itself.
   *
   * @throws the signal's reason, where it is aborted before the use begins; what `use` throws
   */
  async hold<R>(signal: AbortSignal, use: (thing: T) => Promise<R>): Promise<R> {
    const thing = await this.#take(signal)
    try {
      // Between its turn and now there was time for an abort, which the use would not hear of any more.
      signal.throwIfAborted()
      return await use(thing)
    } finally {
      this.#give(thing)
    }
  }

  /** Resolves when all uses that have begun, and all that wait by now, have ended. */
  async idle(): Promise<void> {
    const never = new AbortController().signal
    const all = await Promise.all(Array.from({ length: this.#count }, () => this.#take(never)))
    for (const thing of all) this.#give(thing)
  }

  async #take(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    const thing = this.#free.pop()
    if (thing !== undefined) return thing
    return new Promise((resolve, reject) => {
      const turn = (given: T) => {
        signal.removeEventListener('abort', abort)
        resolve(given)
      }
      const abort = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        reject(signal.reason as Error)
      }
      this.#waiting.push(turn)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  /** Handed from one to the next, never free in between. */
  #give(thing: T): void {
    const next = this.#waiting.shift()
    if (next) next(thing)
    else this.#free.push(thing)
  }
}

/** Places of which only the number matters. */
export function places(count: number): HandOut<number> {
  return new HandOut(Array.from({ length: count }, (_, i) => i))
}
