interface Waiter {
  readonly offset: number
  readonly settle: (error?: unknown) => void
}

/** Who waits for which offset of which topic. */
export class Waiters {
  readonly #waiting = new Map<string, Set<Waiter>>()

  get topics(): string[] {
    return [...this.#waiting.keys()]
  }

  /** Resolves with the {@link wake} that passes `offset`; rejects with the signal's reason. */
  add(topic: string, offset: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        offset,
        settle: (error) => {
          signal.removeEventListener('abort', aborted)
          this.#remove(topic, waiter)
          if (error === undefined) resolve()
          else reject(error)
        },
      }
      const aborted = () => waiter.settle(signal.reason)
      signal.addEventListener('abort', aborted)
      const others = this.#waiting.get(topic)
      if (others) others.add(waiter)
      else this.#waiting.set(topic, new Set([waiter]))
    })
  }

  wake(topic: string, next: number): void {
    for (const waiter of this.#waiting.get(topic) ?? []) if (next > waiter.offset) waiter.settle()
  }

  reject(error: unknown): void {
    for (const waiters of this.#waiting.values()) for (const waiter of waiters) waiter.settle(error)
  }

  #remove(topic: string, waiter: Waiter): void {
    const others = this.#waiting.get(topic)
    others?.delete(waiter)
    if (others?.size === 0) this.#waiting.delete(topic)
  }
}
