import type { Sampling } from '../../../topics/common.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'

/** What differs in the graph; everything else about sampling is data, one value a row. */
export interface SamplerKind {
  /** `greedy`: temperature 0. `plain`: the whole distribution. `nucleus`: top-p or top-k is active. */
  mode: 'greedy' | 'plain' | 'nucleus'
  /** Log-probabilities at temperature 1 instead of at the sampling temperature. */
  raw: boolean
}

export const samplerKinds: readonly SamplerKind[] = [
  { mode: 'greedy', raw: false },
  { mode: 'plain', raw: false },
  { mode: 'plain', raw: true },
  { mode: 'nucleus', raw: false },
  { mode: 'nucleus', raw: true },
]

export function samplerKind(s: Sampling): SamplerKind {
  if (s.temperature === 0) return { mode: 'greedy', raw: false }
  const mode = s.topP < 1 || s.topK > 0 ? 'nucleus' : 'plain'
  return { mode, raw: s.logprobsMode === 'raw' && s.temperature !== 1 }
}

export function samplerName(kind: SamplerKind): string {
  return kind.raw ? `${kind.mode}-raw` : kind.mode
}

/** Whether what is reported differs from what was drawn from, so that {@link Draw.drawn} is there. */
export function hasMismatch(kind: SamplerKind): boolean {
  return kind.mode === 'nucleus' || kind.raw
}

/** One draw a row, each `[B, 1]`. */
export interface Draw {
  /** int32 */
  token: Value
  /** float32, nats: as reported, over the whole vocabulary. */
  logprob: Value
  /** float32, nats: under the distribution that the token was drawn from. Absent where it is the same. */
  drawn?: Value
}

/** Declares `token`, `logprob` and, where it is there, `drawn` as outputs. */
export function drawOutputs(g: GraphBuilder, { token, logprob, drawn }: Draw): void {
  g.output(token, 'int32', ['B', 1], 'token')
  g.output(logprob, 'float32', ['B', 1], 'logprob')
  if (drawn) g.output(drawn, 'float32', ['B', 1], 'drawn')
}

/** Above this vocabulary a running sum is cheaper than a product with a triangular matrix. */
const largestTriangle = 1024

/**
 * One draw a row of `logits [B, V]`: the token (int32 `[B, 1]`) and its log-probability (float32 `[B, 1]`, nats)
 * over the whole vocabulary, after temperature unless `kind.raw`. Greedy: the arg max, log-probability at temperature 1.
 *
 * The draw inverts the cumulative distribution at one uniform number: the token is the count of cumulative masses that
 * are at most `u` times the whole mass. `nucleus` does so over the tokens sorted by falling probability, cut to the
 * first `top_k`, then to the smallest set whose share of the rest reaches `top_p` (Hugging Face's order; a token equal
 * to the last one kept is cut, so that exactly `top_k` remain).
 *
 * Adds the inputs `u`, `inverse_temperature` (float32 `[B, 1]`) and, for `nucleus`, `top_p`, `top_k` (float32 `[B, 1]`,
 * `top_k` is V for no limit) and `candidates` (int64 `[1]`, at least every row's `top_k`).
 */
export function sampler(g: GraphBuilder, logits: Value, vocab: number, kind: SamplerKind): Draw {
  if (kind.mode === 'greedy') {
    const best = g.op('ArgMax', [logits], { attrs: { axis: -1, keepdims: 1 } })
    return { token: int32(g, best), logprob: pickColumn(g, logSoftmax(g, logits), best) }
  }
  const u = g.input('u', 'float32', ['B', 1])
  const inverseTemperature = g.input('inverse_temperature', 'float32', ['B', 1])
  const scores = logSoftmax(g, g.op('Mul', [logits, inverseTemperature]))
  const reported = kind.raw ? logSoftmax(g, logits) : scores
  if (kind.mode === 'plain') {
    const sums = runningSum(g, g.op('Exp', [scores]), vocab, null)
    const token = countUpTo(g, sums, g.op('Mul', [u, rowMax(g, sums)]))
    const logprob = pickColumn(g, reported, token)
    if (!kind.raw) return { token: int32(g, token), logprob }
    return { token: int32(g, token), logprob, drawn: pickColumn(g, scores, token) }
  }
  const { order, rank, sorted, keptMass } = nucleus(g, scores, u, vocab)
  const token = pickColumn(g, order, rank)
  const score = pickColumn(g, sorted, rank)
  const drawn = g.op('Sub', [score, g.op('Log', [keptMass])])
  return { token: int32(g, token), logprob: kind.raw ? pickColumn(g, reported, token) : score, drawn }
}

function nucleus(g: GraphBuilder, scores: Value, u: Value, vocab: number) {
  const topP = g.input('top_p', 'float32', ['B', 1])
  const topK = g.input('top_k', 'float32', ['B', 1])
  const candidates = g.input('candidates', 'int64', [1])
  const [sorted, order] = g.ops('TopK', [scores, candidates], 2, {
    attrs: { axis: -1, largest: 1, sorted: 1 },
  }) as [Value, Value]
  const ranks = g.f32(Float32Array.from({ length: vocab }, (_, i) => i))
  const inTopK = g.op('Less', [g.op('Slice', [ranks, g.i64([0]), candidates]), topK])
  const mass = g.op('Where', [inTopK, g.op('Exp', [sorted]), g.f32(0)])
  const sums = runningSum(g, mass, vocab, candidates)
  const before = g.op('Sub', [sums, mass])
  const kept = g.op('Less', [before, g.op('Mul', [topP, rowMax(g, sums)])])
  const keptMass = rowMax(g, g.op('Where', [kept, sums, g.f32(0)]))
  return { sorted, order, keptMass, rank: countUpTo(g, sums, g.op('Mul', [u, keptMass])) }
}

function logSoftmax(g: GraphBuilder, x: Value): Value {
  return g.op('LogSoftmax', [x], { attrs: { axis: -1 } })
}

function rowMax(g: GraphBuilder, x: Value): Value {
  return g.op('ReduceMax', [x], { attrs: { axes: [-1], keepdims: 1 } })
}

/** Inclusive sums along the last axis, never falling: every column adds the same terms in the same order. */
function runningSum(g: GraphBuilder, x: Value, vocab: number, width: Value | null): Value {
  if (vocab > largestTriangle) return g.op('CumSum', [x, g.i64(1)])
  const ones = Float32Array.from({ length: vocab * vocab }, (_, i) =>
    Math.floor(i / vocab) <= i % vocab ? 1 : 0,
  )
  let triangle = g.f32(ones, [vocab, vocab])
  if (width) {
    const end = g.op('Concat', [width, width], { attrs: { axis: 0 } })
    triangle = g.op('Slice', [triangle, g.i64([0, 0]), end])
  }
  return g.op('MatMul', [x, triangle])
}

function countUpTo(g: GraphBuilder, sums: Value, bound: Value): Value {
  const passed = g.op('Cast', [g.op('LessOrEqual', [sums, bound])], { attrs: { to: 7 } })
  return g.op('ReduceSum', [passed, g.i64([-1])], { attrs: { keepdims: 1 } })
}

function pickColumn(g: GraphBuilder, x: Value, column: Value): Value {
  return g.op('GatherElements', [x, column], { attrs: { axis: 1 } })
}

function int32(g: GraphBuilder, x: Value): Value {
  return g.op('Cast', [x], { attrs: { to: 6 } })
}
