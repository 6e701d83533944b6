import type { GroupMembers } from '../../../streams/group-members.ts'
import { hashRollout } from '../../../streams/hash-rollout.ts'
import type { Append } from '../../../streams/ports.ts'
import { type Prompt, prompts, type Reward, type Rollout, rewards, rollouts } from '../../../topics/index.ts'
import { stages } from '../sample-run.ts'

/** What one member answered and what became of it; an answer of another version of the verifier may differ. */
export interface Member {
  readonly text: string
  readonly score?: number
  readonly unparsable?: true
  /** Code of an error: no score then. */
  readonly error?: string
  readonly version?: string
  /** Without a terminal record. */
  readonly open?: true
}

const math = stages.find((s) => s.name === 'math')!

/** Steps of groups of four, each asked for a sum whose answer is its number; records of a step come before those of the next. */
export function judgedRun(steps: readonly (readonly (readonly Member[])[])[]): Append[][] {
  const out: Append[][] = []
  let offset = 0
  let admission = 0
  for (const [s, groups] of steps.entries()) {
    const terminal: Reward[] = []
    for (const members of groups) {
      const groupId = `g${admission}`
      const identity = {
        groupId,
        groupSize: members.length,
        stage: math.name,
        domain: 'math',
        dataset: 'd',
        promptId: `p${admission}`,
        epoch: 0,
        step: s + 1,
        admission,
        visit: 0,
        policyVersion: s,
      }
      const sampling = {
        temperature: 1,
        topP: 1,
        topK: 0,
        maxTokens: 16,
        stopTokens: [0],
        logprobsMode: 'processed' as const,
      }
      const shared = {
        ...identity,
        promptTokens: Int32Array.of(1, 2),
        promptText: `${admission}+0=`,
        groundTruth: String(admission),
        verifier: 'sum',
        sampling,
      }
      const prompt: Prompt = { ...shared, seed: 1 }
      out.push([{ topic: prompts('math'), value: prompt } as Append])
      const made = members.map((m, index): Rollout => {
        const tokens = Int32Array.from(m.text, (c) => c.charCodeAt(0))
        return {
          ...shared,
          id: `${groupId}:${index}`,
          index,
          responseTokens: tokens,
          responseLogprobs: new Float32Array(tokens.length),
          logprobsMode: 'processed',
          lossMask: new Uint8Array(tokens.length).fill(1),
          versionSpans: [],
          finishReason: 'stop',
          status: 'completed',
          responseText: m.text,
          timings: {},
        }
      })
      out.push(made.map((value) => ({ topic: rollouts('math'), value }) as Append))
      for (const [index, m] of members.entries()) {
        if (!m.open) terminal.push(rewardOf(identity, made[index]!, m, offset + index))
      }
      offset += members.length
      admission += 1
    }
    // They finish in any order.
    out.push(terminal.reverse().map((value) => ({ topic: rewards('math'), value }) as Append))
  }
  return out
}

function rewardOf(
  identity: ConstructorParameters<typeof GroupMembers>[0],
  rollout: Rollout,
  m: Member,
  rolloutOffset: number,
): Reward {
  const by = { verifier: 'sum', version: m.version ?? '0', codeHash: 'c', weight: 1, latencyMs: 1 }
  const status = m.error ? 'error' : m.unparsable ? 'unparsable' : 'ok'
  const score = m.error ? {} : { score: m.score ?? 0 }
  return {
    id: rollout.id,
    ...identity,
    index: rollout.index,
    kind: m.error ? 'member-lost' : 'reward',
    ...score,
    rewards: [{ ...by, status, ...score }],
    ...(m.error ? { reason: m.error } : {}),
    attempts: 1,
    rolloutOffset,
    rolloutHash: hashRollout(rollout),
    responseLength: rollout.responseTokens.length,
    truncated: false,
  }
}
