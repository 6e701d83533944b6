import { defer, finalize, Observable, tap } from 'rxjs'
import type { Credit } from './credit.ts'
import type { Releasable } from './delivery.ts'

/**
 * The credit that one subscription holds. Closing it returns all of it, and what is released later counts for
 * nothing: deliveries that nobody will finish after an unsubscribe cannot leak the window away.
 */
export class CreditLedger {
  readonly #credit: Credit
  readonly #released: (() => void) | undefined
  #records = 0
  #bytes = 0
  #open = true

  /** `released` is called with every release, repeated ones too: the time to look whether positions have moved. */
  constructor(credit: Credit, released?: () => void) {
    this.#credit = credit
    this.#released = released
  }

  /** Takes charge of credit that was taken. */
  add(records: number, bytes: number): void {
    this.#records += records
    this.#bytes += bytes
  }

  release(records: number, bytes: number): void {
    if (!this.#open) return
    this.#records -= records
    this.#bytes -= bytes
    this.#credit.release(records, bytes)
  }

  touched(): void {
    if (this.#open) this.#released?.()
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    if (this.#records > 0 || this.#bytes > 0) this.#credit.release(this.#records, this.#bytes)
  }
}

/** Credit of one delivery. Lives apart from the value, so that what is derived does not keep the value alive. */
export class Hold implements Releasable {
  readonly #ledger: CreditLedger
  #records: number
  #bytes: number

  constructor(ledger: CreditLedger, records: number, bytes: number) {
    this.#ledger = ledger
    this.#records = records
    this.#bytes = bytes
  }

  /** Gives back what is held beyond `bytes`: a reservation becomes what it turned out to need. */
  shrink(bytes: number): void {
    if (bytes >= this.#bytes) return
    this.#ledger.release(0, this.#bytes - bytes)
    this.#bytes = bytes
  }

  release(): void {
    if (this.#records > 0) {
      this.#ledger.release(this.#records, this.#bytes)
      this.#records = 0
      this.#bytes = 0
    }
    this.#ledger.touched()
  }
}

/** Credit for one piece of work, taken as soon as it fits. Unsubscribing before withdraws the request. */
export function reserve(
  credit: Credit,
  ledger: CreditLedger,
  records: number,
  bytes: number,
): Observable<Hold> {
  return new Observable((out) => {
    const grant = () => {
      ledger.add(records, bytes)
      out.next(new Hold(ledger, records, bytes))
      out.complete()
    }
    if (credit.take(records, bytes)) grant()
    else out.add(credit.request(records, bytes, grant))
  })
}

/**
 * Gives each subscription its ledger. Cut short, it is closed; after completion, what was put out keeps its credit until it
 * is released, or until the next subscription.
 */
export function withLedger<T>(credit: Credit, use: (ledger: CreditLedger) => Observable<T>): Observable<T> {
  let previous: CreditLedger | undefined
  return defer(() => {
    previous?.close()
    const ledger = new CreditLedger(credit)
    let completed = false
    return use(ledger).pipe(
      tap({
        complete: () => {
          completed = true
        },
      }),
      finalize(() => {
        if (completed) previous = ledger
        else ledger.close()
      }),
    )
  })
}
