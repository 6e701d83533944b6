import { defer, finalize, type Observable, type SchedulerLike, switchMap, tap, timer } from 'rxjs'
import { CascadeError } from '../topics/index.ts'
import { Breaker, type BreakerOptions, breakerDefaults } from './breaker.ts'

export interface BreakersOptions {
  scheduler: SchedulerLike
  outage?: BreakerOptions
  onOutage?: (verifier: string, begins: boolean) => void
}

/** One {@link Breaker} for each version of each verifier. */
export class Breakers {
  readonly #options: BreakersOptions
  readonly #of = new Map<string, Breaker>()

  constructor(options: BreakersOptions) {
    this.#options = options
  }

  /**
   * One try, begun only while the version is not out. Every subscription is another try.
   *
   * @param isOutage which of its errors speak against the verifier
   * @throws CascadeError VERIFIER_ERROR_BUDGET where the outage has lasted too long
   */
  gate<T>(
    verifier: string,
    codeHash: string,
    attempt: Observable<T>,
    isOutage: (error: unknown) => boolean,
  ): Observable<T> {
    const { scheduler } = this.#options
    const breaker = this.#breaker(codeHash)
    const tell = (error: boolean) => this.#tell(breaker, verifier, error)
    const begun = defer(() => {
      let told = false
      const say = (error: boolean) => {
        told = true
        tell(error)
      }
      return attempt.pipe(
        tap({
          next: () => say(false),
          error: (error: unknown) => {
            if (isOutage(error)) say(true)
          },
        }),
        finalize(() => {
          if (!told) breaker.forget()
        }),
      )
    })
    const gated: Observable<T> = defer(() => {
      const permit = breaker.ask(scheduler.now())
      if ('go' in permit) return begun
      if ('waitMs' in permit) return timer(permit.waitMs, scheduler).pipe(switchMap(() => gated))
      throw new CascadeError(
        'VERIFIER_ERROR_BUDGET',
        `verifier ${verifier}: most verdicts were errors for ${Math.round(permit.outageMs / 1000)} s; see the reasons in the ` +
          `dead letters, and go on with cascade run --resume when it is back`,
      )
    })
    return gated
  }

  #tell(breaker: Breaker, verifier: string, error: boolean): void {
    const { scheduler, onOutage } = this.#options
    const before = breaker.open
    breaker.tell(error, scheduler.now())
    if (breaker.open !== before) onOutage?.(verifier, breaker.open)
  }

  #breaker(codeHash: string): Breaker {
    let breaker = this.#of.get(codeHash)
    if (!breaker) {
      breaker = new Breaker(this.#options.outage ?? breakerDefaults)
      this.#of.set(codeHash, breaker)
    }
    return breaker
  }
}
