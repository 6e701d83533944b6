import {
  catchError,
  defer,
  finalize,
  from,
  map,
  mergeMap,
  type Observable,
  type OperatorFunction,
  of,
  retry,
  switchMap,
  take,
  throwError,
  toArray,
} from 'rxjs'
import { CascadeError, isCascadeError, type Prompt, prompts, rewards, rollouts } from '../topics/index.ts'
import type { Credit } from './credit.ts'
import { codeOf, deadLetter } from './dead-letter.ts'
import { Carried, type Delivery, rootOf, Together } from './delivery.ts'
import { perDomain } from './identity.ts'
import { type CreditLedger, reserve, withLedger } from './ledger.ts'
import { memberLost } from './member-lost.ts'
import type { Append, Clock, Envelope, Policy, Sample } from './ports.ts'
import { rolloutOf, wholeGroup } from './samples.ts'

export interface GenerateOptions {
  /** Groups that are sampled at the same time. */
  concurrency: number
  /**
   * Room for rollouts, reserved before a group starts and held until it is written. Its own window, not the
   * source's: prompts that wait for room must not be what uses it up.
   */
  credit: Credit
  /** Bytes that a token is reckoned at. @default 12 */
  tokenBytes?: number
  /** Tries of a group whose failure may pass. @default 3 */
  attempts?: number
  clock: Clock
}

/**
 * Prompts become groups of rollouts. All G rollouts of a prompt, and that the prompt is settled, are one delivery. A group starts
 * once exactly its stamped policy version is loaded and G x maximal tokens fit into the credit; groups finish in any order.
 *
 * A policy that fails is tried again where that may help; then each member becomes `member-lost` with the error's code,
 * in one delivery with the prompt's dead letter, so that counting a group always ends. A response that is not whole
 * (not exactly G, lengths that differ, a log-probability that is not finite) is such a failure. What no prompt is to blame for, an
 * engine that fails, is the flow's error: nothing is settled, and after a restart the group is sampled again.
 */
export function generate(
  policy: Policy,
  options: GenerateOptions,
): OperatorFunction<Delivery<Envelope<Prompt>>, Delivery<readonly Append[]>> {
  const { concurrency, credit } = options
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `generate: expected a concurrency of at least 1, got ${concurrency}`,
    )
  }
  return (source) =>
    withLedger(credit, (ledger) =>
      source.pipe(mergeMap((delivery) => answer(policy, options, delivery, ledger), concurrency)),
    )
}

const rolloutsOf = perDomain(rollouts)
const rewardsOf = perDomain(rewards)
const promptsOf = perDomain(prompts)

function answer(
  policy: Policy,
  options: GenerateOptions,
  delivery: Delivery<Envelope<Prompt>>,
  ledger: CreditLedger,
): Observable<Delivery<readonly Append[]>> {
  const { credit, clock, tokenBytes = 12, attempts = 3 } = options
  const { value: prompt, timestamp } = delivery.value
  const bytesOf = (responseTokens: number) =>
    (responseTokens + prompt.groupSize * prompt.promptTokens.length) * tokenBytes
  const room = bytesOf(prompt.groupSize * prompt.sampling.maxTokens)
  return reserve(credit, ledger, prompt.groupSize, room).pipe(
    switchMap((hold) => {
      const put = (append: readonly Append[], bytes: number) => {
        hold.shrink(bytes)
        return new Carried(
          append,
          delivery.positions,
          delivery.bytes + bytes,
          new Together([rootOf(delivery), hold]),
        )
      }
      const queued = Math.max(0, clock.now() - timestamp)
      let tries = 0
      return sampled(policy, prompt, () => {
        tries += 1
      }).pipe(
        retry({
          count: attempts - 1,
          delay: (error) => (isRetryable(error) ? of(undefined) : throwError(() => error)),
        }),
        map((samples) => {
          const topic = rolloutsOf(prompt.domain)
          const append = samples.map((s) => ({ topic, value: rolloutOf(prompt, s, queued) }) as Append)
          return put(append, bytesOf(samples.reduce((sum, s) => sum + s.tokens.length, 0)))
        }),
        catchError((error: unknown) => {
          if (isOfEngine(error)) return throwError(() => error)
          const append = lost(delivery.value, error, tries)
          return of(put(append, bytesOf(0)))
        }),
      )
    }),
  )
}

function sampled(policy: Policy, prompt: Prompt, begin: () => void): Observable<readonly Sample[]> {
  return defer(() => {
    begin()
    const abort = new AbortController()
    return from(policy.ready(prompt.policyVersion, abort.signal)).pipe(
      switchMap(() => policy.generate(prompt)),
      // One more than asked for is enough to know.
      take(prompt.groupSize + 1),
      toArray(),
      map((samples) => wholeGroup(prompt, samples)),
      finalize(() => abort.abort()),
    )
  })
}

function lost(source: Envelope<Prompt>, error: unknown, attempts: number): readonly Append[] {
  const { value: prompt } = source
  const topic = rewardsOf(prompt.domain)
  const reason = codeOf(error, 'POLICY_FAILED')
  const members = Array.from(
    { length: prompt.groupSize },
    (_, index) => ({ topic, value: memberLost(prompt, index, reason, attempts) }) as Append,
  )
  const raw = promptsOf(prompt.domain).encode(prompt)
  return [...members, deadLetter({ operator: 'generate', source, raw, error, code: reason, attempts })]
}

function isOfEngine(error: unknown): boolean {
  return isCascadeError(error, 'ENGINE_FAILED')
}

function isRetryable(error: unknown): boolean {
  return isCascadeError(error) && error.retryable
}
