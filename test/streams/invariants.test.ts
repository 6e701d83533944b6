import fc from 'fast-check'
import { from, mergeMap, type Observable, type SchedulerLike, Subscription } from 'rxjs'
import { expect, test } from 'vitest'
import { createCredit } from '../../streams/credit.ts'
import { type Delivery, derive } from '../../streams/delivery.ts'
import { generate } from '../../streams/generate.ts'
import { group } from '../../streams/group.ts'
import type { Append, Envelope, Policy, Sample, TopicLog, Verdict, Verifier } from '../../streams/ports.ts'
import { type Sink, sink } from '../../streams/sink.ts'
import { source } from '../../streams/source.ts'
import { pinsOf } from '../../streams/verifier-pins.ts'
import { verify } from '../../streams/verify.ts'
import {
  advantages,
  CascadeError,
  deadLetters,
  isCascadeError,
  prompts,
  rewards,
  rollouts,
  type Topic,
} from '../../topics/index.ts'
import { prompt, type Small, smalls, turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

/** Numbers drawn beforehand, so that a failing run can be shrunk and run again. */
const draws = fc.infiniteStream(fc.nat(1000)).map((s) => {
  const next = () => s.next().value as number
  return { below: (n: number) => next() % n, chance: (percent: number) => next() % 100 < percent }
})
type Draws = typeof draws extends fc.Arbitrary<infer D> ? D : never

interface Flow {
  written: Observable<unknown>
  to: Sink
}

/** Runs a flow to its end, cutting it off and starting it again at random moments, as a supervisor would after a crash. */
async function interrupted(make: () => Flow, draw: Draws): Promise<void> {
  for (let round = 0; ; round++) {
    const { written, to } = make()
    let ended = false
    let failure: unknown
    const subscription = written.subscribe({
      error(error) {
        if (!isCascadeError(error, 'LOG_FULL')) failure = error
      },
      complete() {
        ended = true
      },
    })
    for (let i = round < 12 ? draw.below(60) : 100_000; i > 0 && !subscription.closed; i--) await turns(1)
    subscription.unsubscribe()
    await to.drained().catch((error) => {
      if (!isCascadeError(error, 'LOG_FULL')) failure = error
    })
    if (failure) throw failure
    if (ended) return
  }
}

function flaky(draw: Draws, window = 16): MemoryLog {
  let left = 4
  return new MemoryLog({
    window,
    async beforeCommit(tx) {
      await turns(draw.below(4))
      if (tx.settle.length > 0 && left > 0 && draw.chance(15)) {
        left -= 1
        throw new CascadeError('LOG_FULL', 'full')
      }
    },
  })
}

function flow<T>(
  name: string,
  log: TopicLog,
  topic: Topic<T>,
  operator: (s: Observable<Delivery<Envelope<T>>>) => Observable<Delivery<readonly Append[]>>,
  draw: Draws,
): () => Flow {
  return () => {
    const credit = createCredit({ records: 1 + draw.below(8), bytes: 4096 })
    const to = sink(log, { maxRecords: 1 + draw.below(6) })
    const written = source(log, topic, { group: name, credit, until: 'end' }).pipe(operator, to)
    return { written, to }
  }
}

const fewer = { numRuns: 60 }

test('1, 2: each output exactly once, whatever is cut off and whenever a commit fails', async () => {
  const input = smalls('in')
  const output = smalls('out')
  const count = 40
  await fc.assert(
    fc.asyncProperty(draws, async (draw) => {
      const log = flaky(draw)
      const append = Array.from(
        { length: count },
        (_, id) => ({ topic: input, value: { id, text: '' } }) as Append,
      )
      await log.commit({ append, settle: [] })
      function outOfOrder(s: Observable<Delivery<Envelope<Small>>>) {
        return s.pipe(
          mergeMap(async (d) => {
            await turns(draw.below(12))
            return derive(d, [{ topic: output, value: d.value.value } as Append])
          }, 3),
        )
      }
      await interrupted(flow('shuffle', log, input, outOfOrder, draw), draw)
      const ids = log.values(output).map((s) => s.id)
      expect(ids.sort((a, b) => a - b)).toEqual(append.map((_, id) => id))
      expect(await log.position('shuffle', 'in')).toEqual({ floor: count, beyond: [] })
    }),
    fewer,
  )
})

/** A scheduler on which no time ever passes. */
class Timeless implements SchedulerLike {
  now(): number {
    return 0
  }
  schedule(): Subscription {
    return new Subscription()
  }
}
const timeless = new Timeless()

const size = 3
const admitted = Array.from({ length: 8 }, (_, admission) =>
  prompt({ groupId: `g${admission}`, admission, groupSize: size }),
)

async function chain(draw: Draws) {
  const log = flaky(draw, 12)
  await log.commit({
    append: admitted.map((value) => ({ topic: prompts('math'), value }) as Append),
    settle: [],
  })
  const policy: Policy = {
    version: 3,
    load: async () => undefined,
    ready: async () => undefined,
    generate: (p) =>
      from(Array.from({ length: size }, (_, i) => (i * 2 + p.admission) % size)).pipe(
        mergeMap(async (index): Promise<Sample> => {
          await turns(draw.below(5))
          if (p.admission === 5) throw new CascadeError('POLICY_FAILED', 'broken')
          const tokens = Int32Array.of(p.admission, index)
          return {
            index,
            tokens,
            logprobs: Float32Array.of(-1, -2),
            finishReason: 'stop',
            text: '',
            generateMs: 1,
          }
        }, 2),
      ),
  }
  let current = 1
  const verifierOf = (version: string): Verifier => ({
    name: 'exact',
    version,
    codeHash: `h${version}`,
    async verify(r): Promise<Verdict> {
      await turns(draw.below(5))
      if (draw.chance(20)) current += 1
      if (r.admission === 2 && r.index === 1) throw new Error('crashed')
      return { outcome: 'score', score: 1 + r.index }
    },
  })
  const clock = { now: () => 0 }
  const generating = flow(
    'generate',
    log,
    prompts('math'),
    (s) => generate(policy, { concurrency: 2, credit: createCredit({ records: 6, bytes: 4096 }), clock })(s),
    draw,
  )
  await interrupted(generating, draw)
  const verifying = flow(
    'verify',
    log,
    rollouts('math'),
    (s) => {
      const verifiers = {
        current: () => verifierOf(String(current)),
        pinned: (_: string, version: string) => verifierOf(version),
      }
      const pins = pinsOf(log.values(rewards('math')))
      const options = {
        concurrency: 3,
        attempts: 2,
        timeoutMs: 1,
        scheduler: timeless,
        clock,
        pins,
      }
      return verify(verifiers, options)(s)
    },
    draw,
  )
  await interrupted(verifying, draw)
  const advantage = { overlong: 'score', deviation: 'population', minSpread: 1e-6 } as const
  await interrupted(
    flow('group', log, rewards('math'), (s) => group({ maxOpen: 8, advantages: () => advantage })(s), draw),
    draw,
  )
  return log
}

test('2, 3, 4: a chain of operators, each interrupted at random', async () => {
  await fc.assert(
    fc.asyncProperty(draws, async (draw) => {
      const log = await chain(draw)
      const terminal = log.values(rewards('math'))
      // Exactly one terminal record a member, for every group.
      expect(terminal.map((r) => r.id).sort()).toEqual(
        admitted.flatMap((p) => [0, 1, 2].map((i) => `${p.groupId}:${i}`)),
      )
      for (const p of admitted) {
        const members = terminal.filter((r) => r.groupId === p.groupId)
        const versions = new Set(members.flatMap((r) => r.rewards.map((c) => c.version)))
        expect(versions.size).toBeLessThanOrEqual(1)
      }
      // An error is a lost member with its dead letter, never a score.
      const lost = terminal.filter((r) => r.kind === 'member-lost').map((r) => r.id)
      expect(lost.sort()).toEqual(['g2:1', 'g5:0', 'g5:1', 'g5:2'])
      expect(terminal.some((r) => r.score === 0)).toBe(false)
      expect(log.values(deadLetters('rollouts.math'))).toHaveLength(1)
      expect(log.values(deadLetters('prompts.math'))).toHaveLength(1)
      const outcomes = log.values(advantages('math'))
      expect(outcomes.map((o) => o.groupId).sort()).toEqual(admitted.map((p) => p.groupId))
      expect(outcomes.find((o) => o.groupId === 'g2')!.members.map((m) => m.fate)).toEqual([
        'trained',
        'error',
        'trained',
      ])
      expect(outcomes.find((o) => o.groupId === 'g5')!.outcome).toBe('lost')
    }),
    fewer,
  )
})
