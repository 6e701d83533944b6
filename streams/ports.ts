import type { Observable } from 'rxjs'
import type {
  Checkpoint,
  Demonstration,
  Evaluation,
  FinishReason,
  GradientBatch,
  Prompt,
  RlStage,
  Rollout,
  SettingAsked,
  SftStage,
  Topic,
  Update,
  VerifierAsked,
} from '../topics/index.ts'

/** The interfaces between the dataflow and what it runs on. Adapters live in `src/`. */

/** A record as a log hands it out. */
export interface Envelope<T> {
  readonly topic: string
  readonly offset: number
  /** Milliseconds since 1970, never falling within a topic. */
  readonly timestamp: number
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly value: T
  /** Bytes of the stored value. */
  readonly bytes: number
}

/** One input record that an output settles for a named reader. */
export interface Position {
  readonly group: string
  readonly topic: string
  readonly offset: number
}

/**
 * What a reader has settled: everything below `floor`, and the records of `beyond`, sorted, all above it.
 * A restart reads from `floor` and leaves out `beyond`.
 */
export interface PositionState {
  readonly floor: number
  readonly beyond: readonly number[]
}

export interface Append<T = unknown> {
  readonly topic: Topic<T>
  readonly value: T
  readonly headers?: Readonly<Record<string, string>>
}

export interface Commit {
  readonly append: readonly Append[]
  readonly settle: readonly Position[]
  /** Ids of inbox entries that this transaction answers; removed with it. */
  readonly inbox?: readonly string[]
}

/** Offsets of the appended records, in the order of {@link Commit.append}. */
export interface Committed {
  readonly offsets: readonly number[]
}

export type Start = 'earliest' | 'latest' | { readonly offset: number } | { readonly timestamp: number }

export interface FetchLimit {
  readonly records: number
  readonly bytes: number
}

export interface Fetched<T> {
  readonly records: readonly Envelope<T>[]
  /** Where the next fetch continues; larger than `from` plus the count where offsets are not dense. */
  readonly next: number
}

/**
 * Append-only topics. Pull at the edges: a reader asks for a page against its credit, and nothing is read
 * that nobody asked for.
 */
export interface TopicLog extends AsyncDisposable {
  /**
   * At most `limit` records from offset `from` on; the first one even where it is larger than
   * `limit.bytes`. An empty page means the end is reached: see {@link wait}.
   *
   * @throws `LOG_OFFSET_GONE` where retention has removed `from`; `RECORD_CORRUPT` naming topic and offset.
   */
  fetch<T>(topic: Topic<T>, from: number, limit: FetchLimit): Promise<Fetched<T>>
  /** Resolves once a record at `offset` or beyond can be fetched; rejects with the signal's reason. */
  wait(topic: string, offset: number, signal: AbortSignal): Promise<void>
  /**
   * Appends and settles, both or neither, in one transaction; concurrent commits may share one. Resolves when it
   * is durable (synced), though followers may see the records a moment earlier.
   *
   * @throws `LOG_FULL`, `LOG_FENCED`, `LOG_CLOSED`, `LOG_READ_ONLY`, `RECORD_INVALID`, `RECORD_TOO_LARGE`;
   * nothing of the transaction is written then. `WINDOW_EXCEEDED` where a settled offset lies {@link window} or more beyond the floor.
   */
  commit(tx: Commit): Promise<Committed>
  /** What the named reader has settled in a topic; floor 0 for a new one. */
  position(group: string, topic: string): Promise<PositionState>
  /** The offset that `at` means now: `latest` is the next to be written. */
  offset(topic: string, at: Start): Promise<number>
  topics(): Promise<TopicInfo[]>
  /** Records that a reader may settle beyond its floor. */
  readonly window: number
}

export interface TopicInfo {
  readonly name: string
  readonly earliest: number
  readonly next: number
  readonly bytes: number
}

/** One finished response of a group. */
export interface Sample {
  readonly index: number
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  /** Mean nats a token by which the distribution drawn from exceeds the recorded one; see the rollout's field. */
  readonly mismatch?: number
  readonly finishReason: FinishReason
  readonly text: string
  readonly generateMs: number
}

export interface Policy {
  /** The version that is loaded. */
  readonly version: number
  /**
   * Samples the group of an admitted prompt, each member as it finishes, with exactly `prompt.policyVersion`
   * loaded. Unsubscribing cancels the work.
   */
  generate(prompt: Prompt): Observable<Sample>
  /** Waits until `version` is loaded. @throws `POLICY_VERSION` where it is already past. */
  ready(version: number, signal: AbortSignal): Promise<void>
  load(checkpoint: Checkpoint): Promise<void>
}

/** What one verifier contributed to the verdict of another that combines several. */
export interface VerdictComponent {
  readonly verifier: string
  readonly version: string
  readonly codeHash: string
  readonly outcome: 'score' | 'unparsable'
  readonly score: number
  readonly weight: number
  readonly latencyMs?: number
  readonly detail?: unknown
}

/** A verifier's judgement. An error is thrown or returned as `failed`; it is never a score. */
export type Verdict =
  | {
      readonly outcome: 'score' | 'unparsable'
      readonly score: number
      readonly detail?: unknown
      /** What it was made of; each is kept in the reward's record. */
      readonly components?: readonly VerdictComponent[]
    }
  | {
      readonly outcome: 'failed'
      readonly code: string
      readonly message: string
      readonly retryable: boolean
    }

export interface Verifier {
  readonly name: string
  readonly version: string
  /** Hash of its code and options. */
  readonly codeHash: string
  /** Holds every judgement to a time limit of its own, counted from its beginning: waiting for a turn is no fault of it. */
  readonly limited?: true
  verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict>
}

export interface UpdateSink {
  /** The version that the next batch must be based on. */
  readonly version: number
  /** Applies the batch in memory. @throws `POLICY_VERSION`, `NUMERIC`; the weights are then unchanged. */
  apply(batch: GradientBatch, offset: number): Promise<Update>
  /** Writes and syncs the current weights and optimiser state. The caller commits the record. */
  checkpoint(at: {
    stage: string
    step: number
    reason: Checkpoint['reason']
    gradientBatchOffset: number
  }): Promise<Checkpoint>
}

export interface Evaluator {
  /** Scores the current held-out prompts of a domain with the weights of a checkpoint, greedily. */
  evaluate(checkpoint: Checkpoint, stage: string, domain: string): Promise<Evaluation>
}

/** What an admission takes from the task; pure in (seed, stage, admission), so that a restart admits the same. */
export type AdmittedPrompt = Pick<
  Prompt,
  'dataset' | 'promptId' | 'epoch' | 'visit' | 'promptTokens' | 'promptText' | 'groundTruth' | 'verifier'
>

export type AdmittedDemonstration = Pick<
  Demonstration,
  'domain' | 'dataset' | 'promptId' | 'epoch' | 'promptTokens' | 'responseTokens'
>

export interface PromptSource {
  /** Every domain that is evaluated after every stage. */
  readonly domains: readonly string[]
  prompt(stage: RlStage, admission: number): AdmittedPrompt
  demonstration(stage: SftStage, admission: number): AdmittedDemonstration
  /** Tokens that end a response. */
  readonly stopTokens: readonly number[]
}

/** A command from another process, as the log's inbox hands it to the coordinator. */
export type InboxCommand =
  | { readonly id: string; readonly command: 'pause' | 'resume' | 'stop' | 'finish-stage' }
  | { readonly id: string; readonly command: 'set'; readonly asked: SettingAsked }
  | {
      readonly id: string
      readonly command: 'verifier'
      readonly asked: VerifierAsked
      /** The run asks itself: no entry of the inbox is answered by it. */
      readonly own?: true
    }

/**
 * Named places at which a test may end the process; a no-op otherwise. Names: `commit:before`, `commit:after`,
 * `checkpoint:written`, `checkpoint:synced`, `checkpoint:renamed`, `drain`, `evaluation`, `transition`.
 */
export type Probe = (point: string) => void

/** Time, injected: operators read no clock of the platform. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}
