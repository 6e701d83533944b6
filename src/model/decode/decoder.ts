import ort from 'onnxruntime-node'
import type { ModelConfig } from '../config.ts'
import { type Distributions, Sampler, wantsRaw } from '../sampling/sampler.ts'
import { LazySessions, type SessionOptions, type Tensors } from '../train/sessions.ts'
import { rotaryTables } from './blocks.ts'
import { KvCache } from './cache.ts'
import { stepFeeds, temperatureFeed } from './feeds.ts'
import { type Group, Row } from './group.ts'
import { laidWeights, layoutGraph, transposedWeights } from './layout.ts'
import { distributions, type Prefilled, prefillBatches, prefilled, prefillFeeds } from './prefill.ts'
import { prefillGraph } from './prefill-graph.ts'
import { stepGraph } from './step-graph.ts'

export interface DecoderOptions {
  /** Rows decoded together; a larger group is still decoded whole. @default 256 */
  maxRows?: number
  /**
   * One group at a time, whole, in its own shape, whatever else waits and whichever rows have finished: its result
   * depends on the weights and the request alone, bit for bit.
   *
   * @default false
   */
  deterministic?: boolean
  /**
   * After so many steps on the same weights they are built into the graph: onnxruntime then packs them once instead of in every
   * step, which is a third of the time of products with few rows. Building takes as long as some tens of steps save. Never when
   * `deterministic`, for it rounds otherwise.
   *
   * @default 64
   */
  packAfter?: number
  session?: SessionOptions
}

type Graph = 'prefill' | 'step' | 'packed-step'
type Read = Graph | `${Graph}-raw`
type Fetches = Record<string, ort.Tensor | null>

/** Groups that wait, first in first out. */
export interface GroupQueue {
  peek(): Group | undefined
  shift(): Group | undefined
}

/**
 * Samples groups with continuous batching: a prompt is read once for its group, rows leave when they have finished, and
 * waiting groups take their places. Runs block their thread, so it lives in a worker.
 */
export class Decoder {
  readonly #config: ModelConfig
  readonly #sessions: LazySessions<'layout' | Read>
  readonly #sampler = new Sampler()
  readonly #cache: KvCache
  readonly #maxRows: number
  readonly #deterministic: boolean
  readonly #packAfter: number
  readonly #tables: Tensors
  readonly #layerNames: readonly string[]
  /** The weights as the graphs take them; absent before they were first asked for, and after a change of them. */
  #laid: Tensors | undefined
  /** Steps since the weights changed. */
  #steps = 0
  #places: { rows: number; tensors: Tensors } | undefined
  /** Rows under way; row i has row i of the cache. */
  #rows: Row[] = []

  constructor(config: ModelConfig, options: DecoderOptions = {}) {
    this.#config = config
    this.#maxRows = options.maxRows ?? 256
    this.#deterministic = options.deterministic ?? false
    this.#packAfter = this.#deterministic ? Number.POSITIVE_INFINITY : (options.packAfter ?? 64)
    this.#cache = new KvCache(config)
    this.#sessions = new LazySessions(
      {
        layout: () => layoutGraph(config),
        prefill: () => prefillGraph(config, { raw: false }),
        'prefill-raw': () => prefillGraph(config, { raw: true }),
        step: () => stepGraph(config, { raw: false }),
        'step-raw': () => stepGraph(config, { raw: true }),
        'packed-step': () => stepGraph(config, { raw: false, weights: this.#laid }),
        'packed-step-raw': () => stepGraph(config, { raw: true, weights: this.#laid }),
      },
      options.session ?? {},
    )
    const positions = config.max_position_embeddings
    const { cos, sin } = rotaryTables(config, positions)
    const shape = [positions, config.head_dim / 2]
    this.#tables = { cos: new ort.Tensor('float32', cos, shape), sin: new ort.Tensor('float32', sin, shape) }
    this.#layerNames = Array.from({ length: config.num_hidden_layers }, (_, i) => [`k.${i}`, `v.${i}`]).flat()
  }

  /** Nothing is under way. */
  get idle(): boolean {
    return this.#rows.length === 0
  }

  /**
   * One unit of work: takes what may join from the queue, or decodes what is under way. Groups may be cancelled between
   * rounds. Never rejects: an error of the engine fails every group under way. The weights must not change before the decoder
   * is idle; after a change call {@link weightsChanged}.
   */
  async round(queue: GroupQueue, weights: Tensors): Promise<void> {
    const taken = this.#take(queue)
    try {
      if (taken.length > 0) await this.#start(taken, await this.#layOut(weights))
      else if (this.#rows.length > 0) await this.#step(await this.#layOut(weights))
      this.#compact()
    } catch (error) {
      for (const group of [...taken, ...this.#rows.map((row) => row.group)]) group.fail(error)
      this.#rows = []
      this.#cache.clear()
    }
  }

  /** What is held of the weights is out of date. Only while {@link idle}. */
  async weightsChanged(): Promise<void> {
    this.#laid = undefined
    this.#steps = 0
    for (const name of ['packed-step', 'packed-step-raw'] as const) await this.#sessions.drop(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]()
  }

  /** The next groups that may join: in order, and not one by one into few free rows. */
  #take(queue: GroupQueue): Group[] {
    const taken: Group[] = []
    let rows = this.#rows.length
    if (rows > (this.#deterministic ? 0 : this.#maxRows - (this.#maxRows >> 3))) return taken
    for (let group = queue.peek(); group; group = queue.peek()) {
      if (!group.settled) {
        if (rows > 0 && (this.#deterministic || rows + group.request.rows > this.#maxRows)) break
        rows += group.request.rows
        taken.push(group)
      }
      queue.shift()
    }
    return taken
  }

  async #layOut(weights: Tensors): Promise<Tensors> {
    if (this.#laid) return this.#laid
    const names = transposedWeights(this.#config).map(({ name }) => name)
    const feeds = Object.fromEntries(names.map((name) => [name, weights[name]!]))
    const out = await this.#sessions.run('layout', feeds, this.#fetches(names.map((name) => `laid.${name}`)))
    this.#laid = laidWeights(this.#config, weights, out)
    return this.#laid
  }

  /** Reads the prompts and draws the first token of each row. */
  async #start(groups: readonly Group[], weights: Tensors): Promise<void> {
    for (const group of groups) group.started = performance.now()
    for (const batch of prefillBatches(groups)) {
      const feeds = prefillFeeds(batch.map((g) => g.request.prompt))
      const temperatures = temperatureFeed(batch, feeds.tokens!.dims[0]!)
      const all = { ...weights, ...this.#tables, ...feeds, ...temperatures }
      const out = await this.#read('prefill', batch, all, this.#fetches(this.#layerNames))
      this.#firstTokens(batch, prefilled(out, this.#layerNames, feeds))
    }
  }

  #firstTokens(groups: readonly Group[], read: Prefilled): void {
    const rows = groups.flatMap((g) => Array.from({ length: g.request.rows }, (_, i) => new Row(g, i)))
    const source = groups.flatMap((g, i) => Array.from({ length: g.request.rows }, () => i))
    for (const [i, row] of rows.entries()) this.#draw(row, read.distributions, source[i]!)
    const places = Math.max(
      ...[...this.#rows, ...rows].map(({ group: { request: r } }) => r.prompt.length + r.sampling.maxTokens),
    )
    this.#cache.reserve(Math.max(this.#rows.length + rows.length, 2), places)
    for (const [i, row] of rows.entries()) {
      if (row.finished && !this.#deterministic) continue
      this.#cache.add(read.layers, source[i]!, read.width, row.group.request.prompt.length)
      this.#rows.push(row)
    }
  }

  /** One token for every row under way. */
  async #step(weights: Tensors): Promise<void> {
    const cache = this.#cache
    const packed = this.#steps++ >= this.#packAfter
    const feeds = { ...(packed ? {} : weights), ...this.#tables, ...stepFeeds(this.#rows, cache) }
    const groups = this.#rows.map((row) => row.group)
    const out = await this.#read(packed ? 'packed-step' : 'step', groups, feeds, this.#newPlaces())
    const read = distributions(out)
    for (const [i, row] of this.#rows.entries()) this.#draw(row, read, i)
    const places = this.#layerNames.map((name) => out[name]!.data as Float32Array)
    cache.append(
      places,
      this.#rows.map((row) => !row.finished),
    )
  }

  /** Runs a graph, with distributions at temperature 1 as well if any of the groups wants them. */
  #read(graph: Graph, groups: readonly Group[], feeds: Tensors, into: Fetches): Promise<Tensors> {
    const raw = groups.some((g) => wantsRaw(g.request.sampling))
    const names = raw ? ['probs', 'raw'] : ['probs']
    return this.#sessions.run(raw ? `${graph}-raw` : graph, feeds, { ...this.#fetches(names), ...into })
  }

  #draw(row: Row, from: Distributions, at: number): void {
    if (row.finished) return
    const { sampling } = row.group.request
    const { token, logprob, drawn } = this.#sampler.draw(
      from,
      at,
      this.#config.vocab_size,
      row.uniform(),
      sampling,
    )
    row.push(token, logprob, drawn)
  }

  /**
   * Drops rows that finished or whose group is settled, once they are an eighth of the batch: each shape that is new to
   * onnxruntime costs it some planning. A deterministic group stays whole until all its rows have finished.
   */
  #compact(): void {
    const done = (row: Row) => row.finished || row.group.settled
    const count = this.#rows.filter(done).length
    const enough = this.#deterministic ? this.#rows.length : Math.max(1, this.#rows.length >> 3)
    if (count < enough) return
    for (let i = this.#rows.length - 1; i >= 0; i--) {
      if (!done(this.#rows[i]!)) continue
      this.#cache.remove(i)
      this.#rows[i] = this.#rows.at(-1)!
      this.#rows.pop()
    }
    if (this.#rows.length === 0) this.#cache.clear()
  }

  /** Where a step leaves its keys and values: the same memory as long as the batch keeps its size. */
  #newPlaces(): Tensors {
    const { num_key_value_heads: heads, head_dim } = this.#config
    const rows = this.#cache.rows
    if (this.#places?.rows === rows) return this.#places.tensors
    const tensor = () =>
      new ort.Tensor('float32', new Float32Array(rows * heads * head_dim), [rows, heads, 1, head_dim])
    this.#places = { rows, tensors: Object.fromEntries(this.#layerNames.map((name) => [name, tensor()])) }
    return this.#places.tensors
  }

  #fetches(names: readonly string[]): Fetches {
    return Object.fromEntries(names.map((name) => [name, null]))
  }
}
