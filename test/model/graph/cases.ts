import type { Op } from '../../../src/model/graph/autodiff.ts'
import { attention } from '../../../src/model/graph/ops/attention.ts'
import { add, foldGain, scale, splitFirst } from '../../../src/model/graph/ops/elementwise.ts'
import { embedding, pickRows } from '../../../src/model/graph/ops/gather.ts'
import { headOrder, headsLinear, joinLinear } from '../../../src/model/graph/ops/heads.ts'
import { linear, linearTransposed } from '../../../src/model/graph/ops/linear.ts'
import { targetLogProbs } from '../../../src/model/graph/ops/log-probs.ts'
import { policyLoss } from '../../../src/model/graph/ops/policy-loss.ts'
import { preferenceLoss } from '../../../src/model/graph/ops/preference-loss.ts'
import { prefix } from '../../../src/model/graph/ops/prefix.ts'
import { rmsNorm } from '../../../src/model/graph/ops/rms-norm.ts'
import { rope, ropeTables } from '../../../src/model/graph/ops/rope.ts'
import { swiglu } from '../../../src/model/graph/ops/swiglu.ts'
import type { GraphBuilder } from '../../../src/model/onnx/builder.ts'

/** One differentiable operator at one point. */
export interface OpCase {
  title: string
  op: Op<never>
  attrs: (g: GraphBuilder) => unknown
  inputs: readonly CaseInput[]
  /** Shape of each output that has a gradient; `null` where nothing downstream uses it. */
  outputs: readonly (readonly number[] | null)[]
  /** Gradient nodes that are 0 at this point, so that their sign means nothing. */
  zeros?: readonly string[]
}

export type CaseInput =
  | { shape: readonly number[]; values: Float32Array; wanted: boolean }
  | { shape: readonly number[]; ids: readonly number[]; wanted: false }

/** Numbers between -1 and 1 without pattern. */
export function numbers(size: number, seed: number): Float32Array {
  return Float32Array.from({ length: size }, (_, i) => Math.sin((i + 1) * 12.9898 + seed * 78.233))
}

let seed = 0
const x = (...shape: number[]): CaseInput => {
  seed += 1
  return {
    shape,
    values: numbers(
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
    wanted: true,
  }
}
const fixed = (shape: readonly number[], values: ArrayLike<number>): CaseInput => ({
  shape,
  values: Float32Array.from(values),
  wanted: false,
})
const ids = (...values: number[]): CaseInput => ({ shape: [values.length], ids: values, wanted: false })

function opCase<A>(
  title: string,
  op: Op<A>,
  attrs: A | ((g: GraphBuilder) => A),
  inputs: readonly CaseInput[],
  outputs: OpCase['outputs'],
): OpCase {
  const of = (g: GraphBuilder) => (typeof attrs === 'function' ? (attrs as (g: GraphBuilder) => A)(g) : attrs)
  return { title: `${op.name}${title && `, ${title}`}`, op: op as Op<never>, attrs: of, inputs, outputs }
}

const attentionAttrs = (kvHeads: number, groups: number, time: number) => (g: GraphBuilder) => ({
  kvHeads,
  groups,
  headDim: 4,
  queryShape: g.i64([kvHeads, 2, time * groups, 4]),
  keyShape: g.i64([kvHeads, 2, time, 4]),
  bias: g.f32(
    Array.from({ length: time * groups * time }, (_, i) =>
      i % time > Math.floor(i / (time * groups)) ? -1e30 : 0,
    ),
    [time * groups, time],
  ),
})

/** Four rows of 3 tokens after two prompts of 2. */
const prefixAttrs = (kvHeads: number) => (g: GraphBuilder) => ({
  kvHeads,
  headDim: 4,
  promptShape: g.i64([kvHeads, 2, 1, 8]),
  copies: g.i64([1, 1, 2, 1]),
  copiesShape: g.i64([kvHeads, 2, -1, 8]),
  rowShape: g.i64([kvHeads, 4, -1]),
  parts: g.i64([8, 12]),
})

/** Two rows of 3 queries over 2 places more, of which the second is hidden from the second row. */
const prefixedAttention = (kvHeads: number, groups: number) => (g: GraphBuilder) => ({
  ...attentionAttrs(kvHeads, groups, 3)(g),
  keyShape: g.i64([kvHeads, 2, 5, 4]),
  bias: g.f32(
    Array.from({ length: 2 * 3 * groups * 5 }, (_, i) => {
      const [row, query, key] = [Math.floor(i / (15 * groups)), Math.floor(i / (5 * groups)) % 3, i % 5]
      return key < 2 ? (row === 1 && key === 1 ? -1e30 : 0) : key - 2 > query ? -1e30 : 0
    }),
    [2, 3 * groups, 5],
  ),
})

/** Tokens below, within and above the ratio bounds [0.8, 1.28], with weights of both signs and 0. */
const now = [-1, -2, -1.5, -1, -2, -1.5, -0.7]
const old = [-0.5, -1.9, -2.5, -0.4, -2.1, -2.4, -0.7]
const advantages = [0.5, 0.4, 0.3, -0.5, -0.4, -0.3, 0]
const reference = [-1.2, -1.4, -1.5, -0.6, -2.3, -1.1, -3]
const loss = (use: { old: number; ref: number }) => (g: GraphBuilder) => ({
  weights: g.f32(advantages),
  old: g.f32(old),
  useOld: g.f32(use.old),
  ref: g.f32(reference),
  useRef: g.f32(use.ref),
  klWeights: g.f32([0.1, 0.2, 0.3, 0.1, 0, 0.2, 0.4]),
  ratioMin: g.f32(0.8),
  ratioMax: g.f32(1.28),
})
const nowInput: CaseInput = { shape: [7], values: Float32Array.from(now), wanted: true }

const ropeAttrs = (g: GraphBuilder) => ({
  tables: ropeTables(g, { positions: 4, headDim: 4, theta: 100 }),
  sequenceShape: g.i64([-1, 3, 8]),
  headsShape: g.i64([2, -1, 8]),
})

const headsAttrs = (heads: number) => (g: GraphBuilder) => ({
  heads,
  width: 3,
  order: headOrder(g, g.i64(4), heads),
})

export const opCases: readonly OpCase[] = [
  opCase('', add, null, [x(3, 4), x(3, 4)], [[3, 4]]),
  opCase('', scale, null, [x(3, 4), fixed([], [0.7])], [[3, 4]]),
  opCase('rows', foldGain, { side: 'rows' }, [x(3, 4), x(3)], [[3, 4]]),
  opCase('columns', foldGain, { side: 'columns' }, [x(3, 4), x(4)], [[3, 4]]),
  opCase(
    '',
    splitFirst,
    { sizes: [1, 3] },
    [x(4, 3)],
    [
      [1, 3],
      [3, 3],
    ],
  ),
  opCase('one part unused', splitFirst, { sizes: [2, 2] }, [x(4, 3)], [[2, 3], null]),
  opCase('one-hot', embedding, { rows: 5, width: 3 }, [x(5, 3), ids(4, 0, 4, 2)], [[4, 3]]),
  opCase('scattered', embedding, { rows: 1025, width: 2 }, [x(1025, 2), ids(4, 1024, 4)], [[3, 2]]),
  opCase('', pickRows, null, [x(5, 3), ids(3, 0)], [[2, 3]]),
  opCase('', headsLinear, headsAttrs(2), [x(4, 5), x(6, 5)], [[2, 4, 3]]),
  opCase('one head', headsLinear, headsAttrs(1), [x(4, 5), x(3, 5)], [[1, 4, 3]]),
  opCase('', joinLinear, headsAttrs(2), [x(2, 4, 3), x(6, 5)], [[4, 5]]),
  opCase('one head', joinLinear, headsAttrs(1), [x(1, 4, 3), x(3, 5)], [[4, 5]]),
  opCase('', linear, null, [x(4, 3), x(3, 5)], [[4, 5]]),
  opCase('', linearTransposed, null, [x(4, 3), x(5, 3)], [[4, 5]]),
  opCase('', targetLogProbs, null, [x(3, 5), ids(4, 0, 2)], [[3], null]),
  opCase('', rmsNorm, { width: 5, eps: 0.01 }, [x(3, 5)], [[3, 5]]),
  opCase('', rope, ropeAttrs, [x(2, 6, 8)], [[2, 6, 8]]),
  opCase(
    'from other positions',
    rope,
    (g) => ({ ...ropeAttrs(g), positions: g.i64([0, 1, 2, 1, 2, 3, 0, 0, 1, 3, 1, 0], [4, 3]) }),
    [x(2, 6, 8)],
    [[2, 6, 8]],
  ),
  opCase('', swiglu, null, [x(3, 4), x(3, 4)], [[3, 4]]),
  opCase(
    'a key head a query head',
    attention,
    attentionAttrs(2, 1, 3),
    [x(2, 6, 4), x(2, 6, 4), x(2, 6, 4)],
    [[2, 6, 4]],
  ),
  opCase(
    'two query heads a key head',
    attention,
    attentionAttrs(1, 2, 3),
    [x(1, 6, 8), x(1, 6, 4), x(1, 6, 4)],
    [[1, 6, 8]],
  ),
  opCase('one key head', prefix, prefixAttrs(1), [x(1, 4, 4), x(1, 12, 4)], [[1, 20, 4]]),
  opCase('two key heads', prefix, prefixAttrs(2), [x(2, 4, 4), x(2, 12, 4)], [[2, 20, 4]]),
  opCase(
    'a key head a query head, after a prefix',
    attention,
    prefixedAttention(2, 1),
    [x(2, 6, 4), x(2, 10, 4), x(2, 10, 4)],
    [[2, 6, 4]],
  ),
  opCase(
    'two query heads a key head, after a prefix',
    attention,
    prefixedAttention(1, 2),
    [x(1, 6, 8), x(1, 10, 4), x(1, 10, 4)],
    [[1, 6, 8]],
  ),
  opCase('clipped, with KL', policyLoss, loss({ old: 1, ref: 1 }), [nowInput], [[], null, null, null, null]),
  opCase(
    '',
    preferenceLoss,
    (g) => ({ weights: g.f32([0.5, 0.25, 0.4, 0]), centering: g.f32(0.3) }),
    [x(8, 1)],
    [[], null, null, null],
  ),
  {
    ...opCase('clipped', policyLoss, loss({ old: 1, ref: 0 }), [nowInput], [[], null, null, null, null]),
    zeros: ['2: Sub', '3: Mul'],
  },
]
