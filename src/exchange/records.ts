import { createHash } from 'node:crypto'
import { groupId } from '../../streams/group-id.ts'
import { hashRollout } from '../../streams/hash-rollout.ts'
import type { Identity } from '../../streams/identity.ts'
import type { Prompt, Reward, Rollout, Sampling } from '../../topics/index.ts'
import type { ForeignReward, ForeignRollout } from './foreign.ts'

/** What all records of an import have in common. */
export interface ImportOf {
  readonly run: string
  readonly stage: string
  readonly domain: string
  readonly dataset: string
  /** Who judges these rollouts, as prompts name it, and who judged them where a row does not say. */
  readonly verifier: string
}

export interface GroupRecords {
  readonly prompt: Prompt
  readonly rollouts: readonly Rollout[]
  /** @param offset of the group's first rollout; the others follow it */
  rewards(offset: number): readonly Reward[]
}

/** What a row does not say of its judgement: the verifier's version and code hash, an error's reason. */
const unknown = 'unknown'

/**
 * A foreign group as records. What the schema wants and the rows do not say is a placeholder, named in `absent`: sampling parameters
 * (temperature 1), versions and epochs (0), finish reasons (`stop`), ground truths (null), tokens and log-probabilities (none).
 */
export function recordsOf(
  members: readonly ForeignRollout[],
  of: ImportOf,
  at: { step: number; admission: number },
): GroupRecords {
  const first = members[0]!
  const versions = members.flatMap((m) => (m.policyVersion === undefined ? [] : [m.policyVersion]))
  const guess = placeholder(members)
  const identity = {
    groupId: groupId(of.run, of.stage, at.admission),
    groupSize: members.length,
    stage: of.stage,
    domain: of.domain,
    dataset: first.dataset ?? of.dataset,
    promptId: first.promptId ?? hashPrompt(first),
    epoch: 0,
    step: at.step,
    admission: at.admission,
    visit: 0,
    policyVersion: versions.length > 0 ? Math.min(...versions) : 0,
  }
  const shared = {
    ...identity,
    promptTokens: first.promptTokens ?? new Int32Array(0),
    promptText: first.prompt ?? '',
    groundTruth: first.groundTruth ?? null,
    verifier: of.verifier,
  }
  const common = ['epoch', 'visit']
  const prompt: Prompt = {
    ...shared,
    ...(first.messages ? { messages: first.messages } : {}),
    sampling: first.sampling ?? guess,
    seed: 0,
    absent: [
      ...common,
      'seed',
      ...unless(versions.length > 0, 'policyVersion'),
      ...asked(first),
      ...unless(first.groundTruth !== undefined, 'groundTruth'),
      ...unless(first.sampling !== undefined, 'sampling'),
    ],
  }
  const rollouts = members.map((member, index) => rolloutOf(member, index, shared, common, guess))
  return {
    prompt,
    rollouts,
    rewards: (offset) =>
      members.flatMap(({ reward }, i) => {
        const rollout = rollouts[i]!
        return reward
          ? [rewardOf(reward, { ...identity, id: rollout.id, index: i }, rollout, offset + i, of)]
          : []
      }),
  }
}

type Shared = Identity & Pick<Prompt, 'promptTokens' | 'promptText' | 'groundTruth' | 'verifier'>

function rolloutOf(
  member: ForeignRollout,
  index: number,
  shared: Shared,
  common: readonly string[],
  guess: Sampling,
): Rollout {
  const tokens = member.responseTokens ?? new Int32Array(0)
  const sampling = member.sampling ?? guess
  return {
    ...shared,
    // Its own: members of a named group need not have been asked alike.
    promptTokens: member.promptTokens ?? new Int32Array(0),
    promptText: member.prompt ?? '',
    policyVersion: member.policyVersion ?? 0,
    id: `${shared.groupId}:${index}`,
    index,
    groundTruth: member.groundTruth ?? null,
    responseTokens: tokens,
    responseLogprobs: member.logprobs ?? new Float32Array(0),
    logprobsMode: sampling.logprobsMode,
    lossMask: member.lossMask ?? new Uint8Array(tokens.length).fill(1),
    versionSpans: [...(member.versionSpans ?? [])],
    sampling,
    finishReason: member.finishReason ?? 'stop',
    status: member.status ?? (member.finishReason === 'length' ? 'truncated' : 'completed'),
    responseText: member.response,
    ...(member.messages ? { messages: member.messages } : {}),
    timings: {},
    ...(member.refLogprobs ? { refLogprobs: member.refLogprobs } : {}),
    absent: [
      ...common,
      ...unless(member.policyVersion !== undefined, 'policyVersion'),
      ...asked(member),
      ...unless(member.groundTruth !== undefined, 'groundTruth'),
      ...unless(member.responseTokens !== undefined, 'responseTokens'),
      ...unless(member.logprobs !== undefined, 'responseLogprobs'),
      ...unless(member.versionSpans !== undefined, 'versionSpans'),
      ...unless(member.sampling !== undefined, 'sampling', 'logprobsMode'),
      ...unless(member.finishReason !== undefined, 'finishReason'),
      ...unless(member.status !== undefined || member.finishReason !== undefined, 'status'),
    ],
  }
}

type Member = Identity & Pick<Reward, 'id' | 'index'>

function rewardOf(
  reward: ForeignReward,
  member: Member,
  rollout: Rollout,
  offset: number,
  of: ImportOf,
): Reward {
  const score = reward.score === undefined ? {} : { score: reward.score }
  return {
    ...member,
    kind: reward.outcome === 'error' ? 'member-lost' : 'reward',
    ...score,
    rewards: [
      {
        verifier: reward.verifier ?? of.verifier,
        version: reward.version ?? unknown,
        codeHash: unknown,
        status: reward.outcome === 'score' ? 'ok' : reward.outcome,
        ...score,
        weight: 1,
        latencyMs: 0,
        ...(reward.detail === undefined ? {} : { detail: reward.detail }),
      },
    ],
    ...(reward.outcome === 'error' ? { reason: reward.reason ?? unknown } : {}),
    attempts: 1,
    rolloutOffset: offset,
    rolloutHash: hashRollout(rollout),
    responseLength: rollout.responseTokens.length,
    truncated: rollout.status === 'truncated',
  }
}

function placeholder(members: readonly ForeignRollout[]): Sampling {
  const longest = members.reduce((most, m) => Math.max(most, m.responseTokens?.length ?? 0), 1)
  return { temperature: 1, topP: 1, topK: 0, maxTokens: longest, stopTokens: [], logprobsMode: 'processed' }
}

function asked({ prompt, promptTokens }: ForeignRollout): string[] {
  return [
    ...unless(prompt !== undefined, 'promptText'),
    ...unless(promptTokens !== undefined, 'promptTokens'),
  ]
}

function unless(known: boolean, ...fields: string[]): string[] {
  return known ? [] : fields
}

/** The same prompt has the same id, whichever file it stands in. */
function hashPrompt({ prompt, promptTokens }: ForeignRollout): string {
  const hash = createHash('sha256')
  if (prompt === undefined && promptTokens)
    hash.update(new Uint8Array(promptTokens.buffer, promptTokens.byteOffset, promptTokens.byteLength))
  else hash.update(prompt ?? '')
  return hash.digest('hex').slice(0, 16)
}
