import { Observable, type OperatorFunction, Subscriber } from 'rxjs'

/** What an operator does with its source, for one subscription. */
export interface Handlers<A> {
  next(value: A): void
  /** The source has ended. A handler that takes this completes the output itself; without one it completes at once. */
  complete?(): void
}

/** An operator from its state for one subscription. What a handler throws becomes the output's error. */
export function operate<A, B>(handlers: (out: Subscriber<B>) => Handlers<A>): OperatorFunction<A, B> {
  return (source) => new Observable<B>((out) => source.subscribe(new Intake(out, handlers(out))))
}

/** Chained to its output before the source starts: a source that emits while being subscribed can be stopped, too. */
class Intake<A, B> extends Subscriber<A> {
  readonly #out: Subscriber<B>
  readonly #handlers: Handlers<A>

  constructor(out: Subscriber<B>, handlers: Handlers<A>) {
    super(out)
    this.#out = out
    this.#handlers = handlers
  }

  protected override _next(value: A): void {
    try {
      this.#handlers.next(value)
    } catch (error) {
      this.#out.error(error)
    }
  }

  protected override _complete(): void {
    try {
      if (this.#handlers.complete) this.#handlers.complete()
      else this.#out.complete()
    } catch (error) {
      this.#out.error(error)
    } finally {
      this.unsubscribe()
    }
  }
}

/** A call of a port whose synchronous throw is a rejection like any other. */
export function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call()
  } catch (error) {
    return Promise.reject(error)
  }
}
