import type { Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import type { Delivery } from '../../streams/delivery.ts'
import type { Envelope, Position } from '../../streams/ports.ts'
import { defineTopic, type Prompt, type Reward, type Rollout, type Topic } from '../../topics/index.ts'

export function marbles(run: Parameters<TestScheduler['run']>[0]): void {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(run)
}

export interface Small {
  id: number
  text: string
}

export function smalls(name: string): Topic<Small> {
  return defineTopic<Small>({
    name,
    version: 1,
    schema: z.object({ id: z.int(), text: z.string() }),
    key: (s) => String(s.id),
  })
}

/** A delivery that counts its releases. */
export class Probe<T> implements Delivery<T> {
  readonly value: T
  readonly positions: readonly Position[]
  readonly bytes: number
  released = 0

  constructor(value: T, offset = 0, bytes = 10) {
    this.value = value
    this.positions = [{ group: 'g', topic: 't', offset }]
    this.bytes = bytes
  }

  release(): void {
    this.released += 1
  }
}

export function envelope<T>(topic: string, offset: number, value: T): Envelope<T> {
  return { topic, offset, timestamp: 1000, key: '', headers: {}, value, bytes: 100 }
}

class Answer<T> extends Promise<T> {
  static of<V>(then: (use: (v: V) => unknown, fail: (e: unknown) => unknown) => unknown): Promise<V> {
    const answer = new Answer<V>(() => undefined)
    // oxlint-disable-next-line unicorn/no-thenable -- a promise in virtual time is the point
    void Object.defineProperty(answer, 'then', { value: then })
    return answer
  }
}

/** A promise that settles when the observable says so: what lets marbles run through a port. */
export function when<T>(answer: Observable<T>): Promise<T> {
  return Answer.of((next, error) => {
    answer.subscribe({ next, error })
    return Promise.resolve()
  })
}

/** Several turns of the microtask queue. */
export async function turns(n = 20): Promise<void> {
  for (let i = 0; i < n; i++) await Promise.resolve()
}

export const prompt = (over: Partial<Prompt> = {}): Prompt => ({
  groupId: 'g1',
  groupSize: 2,
  stage: 'math',
  domain: 'math',
  dataset: 'd',
  promptId: 'p1',
  epoch: 0,
  step: 1,
  admission: 0,
  visit: 0,
  policyVersion: 3,
  promptTokens: Int32Array.of(1, 2, 3),
  promptText: 'abc',
  groundTruth: '42',
  verifier: 'exact',
  sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 8, stopTokens: [0], logprobsMode: 'processed' },
  seed: 7,
  ...over,
})

export const rollout = (over: Partial<Rollout> = {}): Rollout => {
  const { seed: _, ...p } = prompt()
  const index = over.index ?? 0
  return {
    ...p,
    id: `${over.groupId ?? p.groupId}:${index}`,
    index,
    responseTokens: Int32Array.of(4, 5),
    responseLogprobs: Float32Array.of(-0.5, -1),
    logprobsMode: 'processed',
    lossMask: Uint8Array.of(1, 1),
    versionSpans: [{ version: 3, start: 0, end: 2 }],
    finishReason: 'stop',
    status: 'completed',
    responseText: 'de',
    timings: { queued: 0, generate: 1 },
    ...over,
  }
}

export const reward = (over: Partial<Reward> = {}): Reward => {
  const {
    promptTokens: _t,
    promptText: _x,
    groundTruth: _g,
    verifier,
    sampling: _s,
    seed: _,
    ...p
  } = prompt()
  const index = over.index ?? 0
  const lost = over.kind === 'member-lost'
  return {
    ...p,
    id: `${over.groupId ?? p.groupId}:${index}`,
    index,
    kind: 'reward',
    ...(lost ? {} : { score: 1 }),
    rewards: lost
      ? []
      : [{ verifier, version: '1', codeHash: 'h', status: 'ok', score: 1, weight: 1, latencyMs: 1 }],
    attempts: 1,
    rolloutOffset: index,
    rolloutHash: 'x',
    responseLength: 2,
    truncated: false,
    ...over,
  }
}
