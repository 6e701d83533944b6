import type { ModelConfig } from '../../../src/model/config.ts'
import { Decoder, type DecoderOptions } from '../../../src/model/decode/decoder.ts'
import { Group } from '../../../src/model/decode/group.ts'
import type { GeneratedRow, GenerateRequest } from '../../../src/model/decode/requests.ts'
import { Trainer } from '../../../src/model/train/trainer.ts'
import { initWeights, type TensorMap } from '../../../src/model/weights/init.ts'

/** Starting weights made larger: distributions far from uniform, so that mistakes show. */
export function peaked(config: ModelConfig, factor = 6): TensorMap {
  const weights = initWeights(config, 5)
  for (const [name, data] of weights)
    if (!name.includes('norm')) for (const i of data.keys()) data[i]! *= factor
  return weights
}

/** Decoder and trainer over the same weights, in this thread. */
export class Rig implements AsyncDisposable {
  readonly trainer: Trainer
  readonly decoder: Decoder

  constructor(config: ModelConfig, options: DecoderOptions = {}) {
    const session = { intraOpNumThreads: 1 }
    this.trainer = new Trainer(config, { weights: peaked(config), session })
    this.decoder = new Decoder(config, { session, ...options })
  }

  /** The rows of each request; each waits from the round in `arrivals` on, the first one by default. `between` is called after every round. */
  async sample(
    requests: readonly GenerateRequest[],
    between: (groups: readonly Group[], round: number) => void = () => {},
    arrivals: readonly number[] = [],
  ): Promise<GeneratedRow[][]> {
    const results = requests.map((): GeneratedRow[] => [])
    const faults: unknown[] = []
    const groups = requests.map(
      (r, i) =>
        new Group(r, {
          row: (index, row) => {
            results[i]![index] = row
          },
          done() {},
          failed: (error) => faults.push(error),
        }),
    )
    const waiting = [...groups]
    let round = 0
    const arrived = () => (arrivals[groups.length - waiting.length] ?? 0) <= round
    const queue = { peek: () => (arrived() ? waiting[0] : undefined), shift: () => waiting.shift() }
    for (; waiting.length > 0 || !this.decoder.idle; round++) {
      await this.decoder.round(queue, this.trainer.weights)
      between(groups, round)
    }
    if (faults.length > 0) throw faults[0]
    return results
  }

  /** Log-probabilities of the rows' tokens as `score` gives them. */
  async score(prompt: Int32Array, rows: readonly GeneratedRow[], temperature: number): Promise<number[][]> {
    const cols = prompt.length + Math.max(...rows.map((r) => r.tokens.length))
    const size = rows.length * cols
    const batch = {
      rows: rows.length,
      cols,
      tokens: new Int32Array(size),
      valid: new Uint8Array(size),
      lossMask: new Uint8Array(size),
    }
    for (const [i, { tokens }] of rows.entries()) {
      batch.tokens.set(prompt, i * cols)
      batch.tokens.set(tokens, i * cols + prompt.length)
      batch.valid.fill(1, i * cols, i * cols + prompt.length + tokens.length)
      batch.lossMask.fill(1, i * cols + prompt.length, i * cols + prompt.length + tokens.length)
    }
    const { logProbs } = await this.trainer.score(batch, temperature)
    return rows.map(({ tokens }, i) => Array.from(tokens, (_, t) => logProbs[i * cols + prompt.length + t]!))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.decoder[Symbol.asyncDispose]()
    await this.trainer[Symbol.asyncDispose]()
  }
}
