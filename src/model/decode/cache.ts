import ort from 'onnxruntime-node'
import type { ModelConfig } from '../config.ts'
import type { Tensors } from '../train/sessions.ts'

/** Cached places grow by this many: few distinct shapes, little padding. */
export const widthStep = 16

/** Added to the score of a place that holds nothing. Far below any score, and exp of it is exactly 0. */
const blocked = -1e30

/**
 * Keys and values of the rows being decoded, `[rows, kv heads, width, head_dim]` a layer, in memory of this thread.
 * onnxruntime reads them in place. `width` is what the longest row needs, rounded up to {@link widthStep}; a
 * change of it moves rows inside the same memory. Places that hold nothing are finite, so that weight 0 cancels them.
 */
export class KvCache {
  readonly #config: ModelConfig
  /** Key and value memory, layer by layer: k.0, v.0, k.1, ... */
  #memory: Float32Array<ArrayBuffer>[] = []
  #mask = new Float32Array(0)
  #width = 0
  #rows = 0
  /** Filled places of each row. */
  readonly lengths: number[] = []
  #feeds: Tensors | undefined

  constructor(config: ModelConfig) {
    this.#config = config
  }

  get rows(): number {
    return this.#rows
  }

  /** Makes room for so many rows of so many places; what is held stays. */
  reserve(rows: number, places: number): void {
    const { num_key_value_heads: heads, head_dim, num_hidden_layers: layers } = this.#config
    // The width is that of the longest row there was since the cache was empty.
    const width = Math.max(roundUp(places), this.#width)
    const size = rows * heads * width * head_dim
    if ((this.#memory[0]?.length ?? 0) >= size) return
    this.#memory = Array.from({ length: 2 * layers }, (_, i) => enlarged(this.#memory[i], size))
    this.#mask = enlarged(this.#mask, rows * width)
    this.#feeds = undefined
  }

  /** Appends a row whose first places are row `from` of a prefill's `[N, kv heads, S, head_dim]` outputs. */
  add(prefill: readonly Float32Array[], from: number, promptWidth: number, length: number): void {
    const { num_key_value_heads: heads, head_dim: d } = this.#config
    this.#resize(length)
    this.#feeds = undefined
    const row = this.#rows++
    this.lengths[row] = length
    for (const [i, memory] of this.#memory.entries()) {
      for (let h = 0; h < heads; h++) {
        const source = (from * heads + h) * promptWidth * d
        const target = (row * heads + h) * this.#width * d
        memory.set(prefill[i]!.subarray(source, source + length * d), target)
        memory.fill(0, target + length * d, target + this.#width * d)
      }
    }
    this.#unmask(row)
  }

  /**
   * Appends one place to every row that goes on: a step's `k.i` and `v.i`, `[rows, kv heads, 1, head_dim]`. A row that has
   * finished may stay a while, but must not outgrow what was reserved for it.
   */
  append(step: readonly Float32Array[], goesOn: readonly boolean[]): void {
    const { num_key_value_heads: heads, head_dim: d } = this.#config
    let longest = 0
    for (let row = 0; row < this.#rows; row++)
      if (goesOn[row]) longest = Math.max(longest, this.lengths[row]!)
    this.#resize(longest + 1)
    const width = this.#width
    for (const [i, memory] of this.#memory.entries()) {
      // Two numbers at a time: head_dim is even, and the bits of a finite pair are never those of a NaN.
      const [target, source] = [pairs(memory), pairs(step[i]!)]
      for (let row = 0, s = 0; row < this.#rows; row++) {
        if (!goesOn[row]) {
          s += heads * (d / 2)
          continue
        }
        const at = this.lengths[row]!
        for (let h = 0; h < heads; h++) {
          const start = ((row * heads + h) * width + at) * (d / 2)
          // A loop beats copying through views at these lengths.
          for (let j = start; j < start + d / 2; j++) target[j] = source[s++]!
        }
      }
    }
    for (let row = 0; row < this.#rows; row++) {
      if (goesOn[row]) this.#mask[row * width + this.lengths[row]!++] = 0
    }
  }

  /** Drops a row; the last one takes its place. */
  remove(row: number): void {
    const last = --this.#rows
    this.#feeds = undefined
    if (row === last) return
    const size = this.#config.num_key_value_heads * this.#width * this.#config.head_dim
    for (const memory of this.#memory) memory.copyWithin(row * size, last * size, (last + 1) * size)
    this.lengths[row] = this.lengths[last]!
    this.#unmask(row)
  }

  clear(): void {
    this.#rows = 0
    this.#width = 0
    this.#feeds = undefined
  }

  /** The first `rows` rows as inputs of a step. */
  feeds(): Tensors {
    if (this.#feeds) return this.#feeds
    const { num_key_value_heads: heads, head_dim } = this.#config
    const [rows, width] = [this.#rows, this.#width]
    const feeds: Record<string, ort.Tensor> = { mask: tensor(this.#mask, [rows, 1, 1, width]) }
    for (const [i, memory] of this.#memory.entries()) {
      const name = `past_${i % 2 === 0 ? 'k' : 'v'}.${i >> 1}`
      feeds[name] = tensor(memory, [rows, heads, width, head_dim])
    }
    this.#feeds = feeds
    return feeds
  }

  #resize(places: number): void {
    const next = roundUp(places)
    if (next <= this.#width) return
    this.#feeds = undefined
    const { num_key_value_heads: heads, head_dim: d } = this.#config
    const before = this.#width
    for (const memory of this.#memory) {
      // From the back: a longer row never overwrites one that has not moved yet.
      for (let i = this.#rows * heads - 1; i >= 0; i--) {
        memory.copyWithin(i * next * d, i * before * d, (i + 1) * before * d)
        memory.fill(0, (i * next + before) * d, (i + 1) * next * d)
      }
    }
    this.#width = next
    for (let row = 0; row < this.#rows; row++) this.#unmask(row)
  }

  #unmask(row: number): void {
    const start = row * this.#width
    const filled = start + this.lengths[row]!
    this.#mask.fill(0, start, filled)
    this.#mask.fill(blocked, filled, start + this.#width)
  }
}

function enlarged(old: Float32Array | undefined, size: number): Float32Array<ArrayBuffer> {
  const memory = new Float32Array(size)
  if (old) memory.set(old)
  return memory
}

/** The same memory, two numbers a place. */
function pairs(numbers: Float32Array): Float64Array {
  return new Float64Array(numbers.buffer, numbers.byteOffset, numbers.length / 2)
}

function roundUp(places: number): number {
  return Math.ceil(places / widthStep) * widthStep
}

function tensor(memory: Float32Array, dims: number[]): ort.Tensor {
  const size = dims.reduce((a, b) => a * b, 1)
  return new ort.Tensor('float32', memory.subarray(0, size), dims)
}
