import {
  catchError,
  defer,
  finalize,
  from,
  identity,
  map,
  mergeMap,
  type Observable,
  type OperatorFunction,
  of,
  retry,
  type SchedulerLike,
  throwError,
  timeout,
  timer,
} from 'rxjs'
import {
  CascadeError,
  isCascadeError,
  type Reward,
  type RewardComponent,
  type Rollout,
  rewards,
  rollouts,
} from '../topics/index.ts'
import { type BackoffOptions, backoffMs } from './backoff.ts'
import type { BreakerOptions } from './breaker.ts'
import { Breakers } from './breakers.ts'
import { deadLetter } from './dead-letter.ts'
import { Carried, type Delivery, rootOf, Together } from './delivery.ts'
import { hashRollout } from './hash-rollout.ts'
import { identityOf, perDomain } from './identity.ts'
import { memberLost } from './member-lost.ts'
import type { Append, Clock, Envelope, Verdict, VerdictComponent, Verifier } from './ports.ts'
import { type Pin, VerifierPins } from './verifier-pins.ts'

/** Where verifiers come from. A version stays until no group is pinned to it. */
export interface Verifiers {
  /** The version that new groups get. @throws where no verifier has this name. */
  current(name: string): Verifier
  /** One that a group is pinned to, or nothing where it is not loaded. */
  pinned(name: string, version: string, codeHash: string): Verifier | undefined
}

export interface VerifyOptions {
  /** Rollouts that are judged at the same time. */
  concurrency: number
  /** Tries of a rollout whose verdict is an error. @default 3 */
  attempts?: number
  /** How long a rollout waits for its next try. @default not at all */
  backoff?: BackoffOptions
  /** A try that takes longer is aborted and counts as an error, unless the verifier sees to that itself. */
  timeoutMs: number
  /** Measures the time-out. */
  scheduler: SchedulerLike
  /** Measures the latency that a reward carries. */
  clock: Clock
  /** Groups in scoring at the same time. @default 4,096 */
  maxGroups?: number
  /** When a verifier is taken to be out, and how long that may last. */
  outage?: BreakerOptions
  /** An outage begins, or is over. */
  onOutage?: (verifier: string, begins: boolean) => void
  /** Pins of groups that were half scored before: {@link pinsOf} of the committed rewards. */
  pins?: ReadonlyMap<string, Pin>
}

/**
 * Rollouts become rewards, each judged by one verifier. A group's members are all judged by the version that its first verdict
 * pinned; a swap takes effect between groups.
 *
 * An error is not a zero: a verifier that throws, fails, exceeds its time or returns a score that is not finite is tried
 * again a bounded number of times; then the member is `member-lost` with the error's code, in one delivery with the
 * rollout's dead letter. While most verdicts of a version are errors that may pass, an outage, its rollouts wait.
 *
 * @throws CascadeError VERIFIER_ERROR_BUDGET where an outage lasts too long
 */
export function verify(
  verifiers: Verifiers,
  options: VerifyOptions,
): OperatorFunction<Delivery<Envelope<Rollout>>, Delivery<readonly Append[]>> {
  const { concurrency, maxGroups = 4096, pins: initial = new Map() } = options
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `verify: expected a concurrency of at least 1, got ${concurrency}`,
    )
  }
  // Outlives a subscription: what is committed after an unsubscribe still counts.
  const pins = new VerifierPins(initial, maxGroups)
  const breakers = new Breakers(options)
  return mergeMap((delivery: Delivery<Envelope<Rollout>>) => {
    const { groupId, groupSize, index } = delivery.value.value
    const written = { release: () => pins.written(groupId, index, groupSize) }
    return judged(verifiers, options, pins, breakers, delivery.value).pipe(
      map(
        (append) =>
          new Carried(append, delivery.positions, delivery.bytes, new Together([rootOf(delivery), written])),
      ),
    )
  }, concurrency)
}

const rewardsOf = perDomain(rewards)
const rolloutsOf = perDomain(rollouts)

/** A verdict that is an error, with what is known of the try. */
class Failed extends Error {
  readonly code: string
  readonly retryable: boolean
  readonly status: 'timeout' | 'error'

  constructor(
    code: string,
    message: string,
    retryable: boolean,
    status: 'timeout' | 'error',
    cause?: unknown,
  ) {
    super(message, { cause })
    this.code = code
    this.retryable = retryable
    this.status = status
  }
}

/** Errors that another try may not have; those of the rollout itself say nothing about the verifier. */
function isOutage(error: unknown): boolean {
  return error instanceof Failed && error.retryable
}

type Scored = Exclude<Verdict, { outcome: 'failed' }>

function componentOf(part: VerdictComponent): RewardComponent {
  const { outcome, latencyMs = 0, detail, ...rest } = part
  return {
    ...rest,
    status: outcome === 'score' ? 'ok' : 'unparsable',
    latencyMs,
    ...(detail === undefined ? {} : { detail }),
  }
}

function judged(
  verifiers: Verifiers,
  options: VerifyOptions,
  pins: VerifierPins,
  breakers: Breakers,
  source: Envelope<Rollout>,
): Observable<readonly Append[]> {
  const { attempts = 3, clock, backoff, scheduler } = options
  const rollout = source.value
  const pin = pins.pin(rollout.groupId, () => verifiers.current(rollout.verifier))
  const verifier = verifiers.pinned(rollout.verifier, pin.version, pin.codeHash)
  let tries = 0
  let began = 0
  const component = (verdict: Scored | Failed): RewardComponent => ({
    // The name that a prompt asks for may be served by another verifier.
    verifier: verifier?.name ?? rollout.verifier,
    version: pin.version,
    codeHash: pin.codeHash,
    ...(verdict instanceof Failed
      ? { status: verdict.status }
      : {
          status: verdict.outcome === 'score' ? 'ok' : 'unparsable',
          score: verdict.score,
          ...(verdict.detail === undefined ? {} : { detail: verdict.detail }),
        }),
    weight: 1,
    latencyMs: Math.max(0, clock.now() - began),
  })
  const known = {
    rolloutOffset: source.offset,
    rolloutHash: hashRollout(rollout),
    responseLength: rollout.responseTokens.length,
    truncated: rollout.status === 'truncated',
  }
  const topic = rewardsOf(rollout.domain)
  const attempt = defer(() => {
    tries += 1
    began = clock.now()
    return once(verifier, pin.version, rollout, options)
  })
  return breakers.gate(rollout.verifier, pin.codeHash, attempt, isOutage).pipe(
    retry({
      count: attempts - 1,
      delay: (error, failures) => {
        if (!(error instanceof Failed && error.retryable)) return throwError(() => error)
        return backoff ? timer(backoffMs(failures, backoff), scheduler) : of(undefined)
      },
    }),
    map((verdict): readonly Append[] => {
      const reward: Reward = {
        id: rollout.id,
        ...identityOf(rollout),
        index: rollout.index,
        kind: 'reward',
        score: verdict.score,
        rewards: [component(verdict), ...(verdict.components ?? []).map(componentOf)],
        attempts: tries,
        ...known,
      }
      return [{ topic, value: reward } as Append]
    }),
    catchError((error: unknown) => {
      if (!(error instanceof Failed)) throw error
      const reward = memberLost(rollout, rollout.index, error.code, tries, {
        rewards: [component(error)],
        ...known,
      })
      const raw = rolloutsOf(rollout.domain).encode(rollout)
      const letter = deadLetter({ operator: 'verify', source, raw, error, code: error.code, attempts: tries })
      return of<readonly Append[]>([{ topic, value: reward } as Append, letter])
    }),
  )
}

/** One try. Every way to fail ends in {@link Failed}. */
function once(
  verifier: Verifier | undefined,
  version: string,
  rollout: Rollout,
  { timeoutMs, scheduler }: VerifyOptions,
): Observable<Scored> {
  const abort = new AbortController()
  const of = `rollout ${rollout.id}: verifier ${rollout.verifier}`
  return defer(() => {
    if (!verifier)
      throw new Failed('VERIFIER_FAILED', `${of} ${version} is pinned and not loaded`, false, 'error')
    return from(verifier.verify(rollout, abort.signal))
  }).pipe(
    verifier?.limited
      ? identity
      : timeout({
          each: timeoutMs,
          scheduler,
          with: () =>
            throwError(
              () => new Failed('VERIFIER_TIMEOUT', `${of} took more than ${timeoutMs} ms`, true, 'timeout'),
            ),
        }),
    map((verdict) => {
      if (verdict.outcome === 'failed') {
        const status = verdict.code === 'VERIFIER_TIMEOUT' ? 'timeout' : 'error'
        throw new Failed(verdict.code, `${of} failed: ${verdict.message}`, verdict.retryable, status)
      }
      const scores = [verdict.score, ...(verdict.components ?? []).flatMap((c) => [c.score, c.weight])]
      const wrong = scores.find((score) => !Number.isFinite(score))
      if (wrong !== undefined) {
        throw new Failed('NUMERIC', `${of}: expected a finite score, got ${wrong}`, true, 'error')
      }
      return verdict
    }),
    catchError((error: unknown) => {
      if (error instanceof Failed) throw error
      const code = isCascadeError(error) ? error.code : 'VERIFIER_FAILED'
      const retryable = isCascadeError(error) ? error.retryable : true
      const message = `${of} threw: ${error instanceof Error ? error.message : String(error)}`
      throw new Failed(code, message, retryable, 'error', error)
    }),
    finalize(() => abort.abort()),
  )
}
