import type { Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'

/** Scalars (rank 0) and per-token vectors `[M]` of the loss. */
export interface PolicyLossAttrs {
  /** Advantage times normaliser of each token. */
  weights: Value
  /** Log-probabilities of the policy that sampled; the ratio's denominator. */
  old: Value
  /** 1: use `old`. 0: strictly on-policy, the ratio is 1 and its gradient that of `log p`. */
  useOld: Value
  /** Log-probabilities of the reference policy, and the normaliser of the KL term times its coefficient. */
  ref: Value
  /** 0: no reference; the KL estimate is 0. */
  useRef: Value
  klWeights: Value
  /** The ratio is cut to `[ratioMin, ratioMax]`. */
  ratioMin: Value
  ratioMax: Value
}

/**
 * Token-level clipped policy gradient with a KL penalty:
 * `sum_t -min(r w, cut(r) w) + klWeights (exp(d) - d - 1)` with `r = exp(new - old)`, `d = ref - new`
 * (PPO, Schulman et al. 2017, eq. 7; the KL estimator is Schulman's k3; the token-level sum with asymmetric
 * bounds is DAPO's, Yu et al. 2025).
 *
 * Input: `new [M]`. Outputs: loss (rank 0), then the sums over tokens of the KL estimate, of tokens whose
 * gradient the clip cut off, of the ratio, and the largest ratio. Only the loss has a gradient.
 */
export const policyLoss: Op<PolicyLossAttrs> = {
  name: 'policy-loss',
  emit(g, [now], o) {
    const sum = (v: Value) => g.op('ReduceSum', [v], { attrs: { keepdims: 0 } })
    const orNow = (use: Value, v: Value) =>
      g.op('Where', [g.op('Cast', [use], { attrs: { to: 9 } }), v, now!])
    const old = orNow(o.useOld, o.old)
    const ratio = g.op('Exp', [g.op('Sub', [now!, old])])
    const plain = g.op('Mul', [ratio, o.weights])
    const cut = g.op('Mul', [g.op('Clip', [ratio, o.ratioMin, o.ratioMax]), o.weights])
    const gain = g.op('Min', [plain, cut])
    const clipped = g.op('Cast', [g.op('Greater', [plain, cut])], { attrs: { to: 1 } })
    const d = g.op('Sub', [orNow(o.useRef, o.ref), now!])
    const expD = g.op('Exp', [d])
    const one = g.f32(1)
    const kl = g.op('Sub', [g.op('Sub', [expD, d]), one])
    const loss = g.op('Sub', [sum(g.op('Mul', [kl, o.klWeights])), sum(gain)])
    const most = g.op('ReduceMax', [ratio], { attrs: { keepdims: 0 } })
    return {
      outputs: [loss, sum(kl), sum(clipped), sum(ratio), most],
      pullback: ({ dy, acc }) => {
        const active = g.op('Mul', [plain, g.op('Sub', [one, clipped])])
        const fromKl = g.op('Mul', [g.op('Sub', [one, expD]), o.klWeights])
        return [plus(g, acc[0], g.op('Mul', [g.op('Sub', [fromKl, active]), dy[0]!]))]
      },
    }
  },
}
