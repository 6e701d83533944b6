import type {
  FinishReason,
  Message,
  Reward,
  RewardComponent,
  Rollout,
  Sampling,
  VersionSpan,
} from '../../topics/index.ts'

/** What became of the judging of a foreign rollout. An error has no score. */
export interface ForeignReward {
  readonly outcome: 'score' | 'unparsable' | 'error'
  readonly score?: number
  /** Who judged it, where the row says so. */
  readonly verifier?: string
  readonly version?: string
  /** Of an error: its code. */
  readonly reason?: string
  readonly detail?: unknown
}

/** A rollout as a foreign row describes it. What the row does not say is not there; nothing is made up. */
export interface ForeignRollout {
  /** Names its group among its neighbours; without it rows of one prompt are a group. */
  readonly group?: string
  /** The step that its trainer was in. */
  readonly step?: number
  readonly promptId?: string
  readonly dataset?: string
  readonly prompt?: string
  readonly response: string
  readonly promptTokens?: Int32Array
  readonly responseTokens?: Int32Array
  /** Exactly one a response token. */
  readonly logprobs?: Float32Array
  /** One a response token; without it the policy sampled all of them. */
  readonly lossMask?: Uint8Array
  readonly refLogprobs?: Float32Array
  readonly policyVersion?: number
  readonly versionSpans?: readonly VersionSpan[]
  readonly messages?: Message[]
  /** JSON. */
  readonly groundTruth?: unknown
  readonly finishReason?: FinishReason
  readonly status?: Rollout['status']
  readonly sampling?: Sampling
  readonly reward?: ForeignReward
}

/** A rollout of a run with its terminal record, to be written as a foreign row. */
export interface Exported {
  readonly rollout: Rollout
  readonly reward: Reward | undefined
}

/** Where a line stands. */
export interface Place {
  /** Path of its file. */
  readonly file: string
  /** From 1. */
  readonly line: number
}

export interface ReadLine {
  readonly rollouts: readonly ForeignRollout[]
  /** Names of fields that are not taken over. */
  readonly ignored: readonly string[]
}

export interface Format {
  readonly name: string
  readonly summary: string
  /** Rollouts without a score cannot be written in it. */
  readonly scoredOnly: boolean
  /** @throws RowFault */
  read(line: unknown, place: Place): ReadLine
  /**
   * The lines of a group, or of those members of it that are exported.
   *
   * @param next number of the first of these lines in its file, from 0
   */
  write(members: readonly Exported[], next: number): readonly unknown[]
}

/** Whether a rollout's field is known: its source may have said nothing of it. */
export function knows({ rollout }: Exported, field: keyof Rollout): boolean {
  return !rollout.absent?.includes(field)
}

/** Tokens of prompt and response, where both are known. */
export function hasTokens(of: Exported): boolean {
  return knows(of, 'promptTokens') && knows(of, 'responseTokens')
}

export function verdictOf(reward: Reward | undefined): ForeignReward['outcome'] | undefined {
  if (!reward) return undefined
  if (reward.kind === 'member-lost') return 'error'
  return reward.rewards[0]?.status === 'unparsable' ? 'unparsable' : 'score'
}

export function judge(of: Exported): RewardComponent | undefined {
  return of.reward?.rewards[0]
}
