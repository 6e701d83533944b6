import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import { answerLength, encodeAnswer, type TextPair } from '../../model/reward/index.ts'
import { hash } from '../../tasks/random.ts'

/** Further fields of a line, such as scores or sources, are no concern of ours. */
const pairSchema = z.object({ prompt: z.string(), chosen: z.string(), rejected: z.string() })

export interface SplitPairs {
  train: TextPair[]
  heldOut: TextPair[]
}

/**
 * The pairs of a file, each readable by a model of `maxLength` tokens.
 *
 * @throws CascadeError USAGE naming the file, and line and field where one is at fault
 */
export async function readPairs(file: string, maxLength: number): Promise<TextPair[]> {
  const input = createReadStream(file)
  const pairs: TextPair[] = []
  let number = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1
      if (text.trim() !== '') pairs.push(pairOf(text, `${file}:${number}`, maxLength))
    }
  } catch (cause) {
    if (cause instanceof CascadeError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CascadeError('USAGE', `${file}: expected a file of pairs: ${reason}`, { cause })
  } finally {
    input.destroy()
  }
  return pairs
}

function pairOf(text: string, where: string, maxLength: number): TextPair {
  const fault = (why: string, cause?: unknown) => new CascadeError('USAGE', `${where}: ${why}`, { cause })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw fault(`expected a JSON object, got ${JSON.stringify(text.slice(0, 60))}`, cause)
  }
  const parsed = pairSchema.safeParse(value)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw fault(`${path.join('.') || '(value)'}: ${message}`)
  }
  const { prompt, chosen, rejected } = parsed.data
  if (chosen === rejected) throw fault('rejected: expected another text than chosen, got the same')
  for (const [field, response] of Object.entries({ chosen, rejected })) {
    const length = answerLength({ prompt, response })
    if (length > maxLength) {
      throw fault(`${field}: expected at most ${maxLength} tokens with its prompt, got ${length}`)
    }
    try {
      encodeAnswer({ prompt, response }, field)
    } catch (cause) {
      if (!isCascadeError(cause, 'RECORD_INVALID')) throw cause
      throw fault(cause.message, cause)
    }
  }
  return { prompt, chosen, rejected }
}

/**
 * Pairs cut in two by their prompts, so that no held-out prompt is trained on: which side one falls on depends on seed and prompt alone.
 *
 * @throws CascadeError USAGE where a side stays empty
 */
export function splitPairs(
  pairs: readonly TextPair[],
  share: number,
  seed: number,
  file: string,
): SplitPairs {
  const split: SplitPairs = { train: [], heldOut: [] }
  for (const pair of pairs) {
    const isHeldOut = hash('reward-model', 'held-out', seed, pair.prompt) / 2 ** 32 < share
    split[isHeldOut ? 'heldOut' : 'train'].push(pair)
  }
  const { train, heldOut } = split
  if (train.length > 0 && heldOut.length > 0) return split
  throw new CascadeError(
    'USAGE',
    `${file}: expected pairs for training and, with other prompts, to hold out, got ${train.length} and ${heldOut.length} of ${pairs.length} (--held-out says how many)`,
  )
}

/** Share of pairs that preferring the longer response gets right; a draw counts half. */
export function longerIsBetter(pairs: readonly TextPair[]): number {
  const right = ({ chosen, rejected }: TextPair) =>
    chosen.length > rejected.length ? 1 : chosen.length === rejected.length ? 0.5 : 0
  return pairs.reduce((sum, pair) => sum + right(pair), 0) / pairs.length
}
