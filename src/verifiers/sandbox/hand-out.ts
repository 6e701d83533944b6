/** A fixed number of things, each with one holder at a time; who finds none waits in order of arrival. */
export class HandOut<T> {
  readonly #free: T[]
  readonly #waiting: ((thing: T) => void)[] = []

  constructor(things: readonly T[]) {
    this.#free = [...things]
  }

  take(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    const thing = this.#free.pop()
    if (thing !== undefined) return Promise.resolve(thing)
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
  give(thing: T): void {
    const next = this.#waiting.shift()
    if (next) next(thing)
    else this.#free.push(thing)
  }
}
