import type { Rollout } from '../../topics/index.ts'

/** What some rollouts do to the process that judges them. */
export type Fault = 'sleep' | 'spin' | 'crash' | 'memory'

export interface FaultyOptions {
  fault: Fault
  /** One rollout in so many; 0 for none. */
  every: number
}

/** Milliseconds of waiting that a verdict takes, as that of a remote model does. */
const verdictMs = 30

/** Whether a rollout is one that does harm: a function of its id alone. */
export function isFaulty(id: string, every: number): boolean {
  let hash = 0
  for (let i = 0; i < id.length; i++) hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0
  return every > 0 && (hash >>> 0) % every === 0
}

/** The score of every other rollout. */
export function scoreOf(response: string): number {
  return response.length % 2
}

export const samples = { good: [{ response: 'a', truth: '' }], bad: [{ response: 'ab', truth: '' }] }

/** A verifier of a run that hangs, crashes or fills the memory on some rollouts. */
export default function faulty({ fault, every }: FaultyOptions) {
  return (response: string, _truth: unknown, rollout: Rollout | undefined): Promise<number> => {
    if (rollout && isFaulty(rollout.id, every)) return harm(fault)
    return new Promise((resolve) => setTimeout(() => resolve(scoreOf(response)), verdictMs))
  }
}

function harm(fault: Fault): Promise<number> {
  switch (fault) {
    case 'sleep':
      return new Promise(() => setInterval(() => undefined, 1_000))
    case 'spin':
      while (true);
    case 'crash':
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => undefined)
    case 'memory': {
      const kept: Uint8Array[] = []
      while (true) kept.push(new Uint8Array(50_000_000).fill(1))
    }
  }
}
