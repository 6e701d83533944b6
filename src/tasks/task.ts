/** One prompt and what its verifier needs to know of it. */
export interface Item {
  /** Unique within its pool or held-out set, and the same for the same seed. */
  readonly id: string
  readonly prompt: string
  /** JSON; its shape is the verifier's. */
  readonly groundTruth: unknown
}

/** Training prompts, each computed when it is asked for. */
export interface Pool {
  readonly size: number
  /** @throws RangeError where `index` is not in [0, size). */
  item(index: number): Item
}

/**
 * A generated task. Everything is a pure function of its arguments. No combination of a held-out item (what
 * that means is the task's to say) occurs in the training pool of any seed.
 */
export interface Task {
  readonly name: string
  readonly domain: string
  /** Name of its verifier. */
  readonly verifier: string
  /** Characters of the longest prompt and response: tokens of a character tokenizer, without special tokens. */
  readonly maxPromptTokens: number
  readonly maxResponseTokens: number
  train(seed: number): Pool
  /** `n` different prompts. */
  heldOut(seed: number, n: number): Item[]
  /** What an annotator answered: one of several, of whom not all do well. Without the stop token. */
  demonstration(item: Item, seed: number, visit: number): string
}

/** Where `index` must lie. */
export function checkIndex(index: number, size: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= size)
    throw new RangeError(`expected an index from 0 to ${size - 1}, got ${index}`)
}
