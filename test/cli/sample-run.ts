import { configSchema } from '../../src/cli/config.ts'
import type { Manifest } from '../../src/cli/run-folder.ts'
import type { Append, TopicLog } from '../../streams/ports.ts'
import {
  advantages,
  type Control,
  checkpoints,
  control,
  type Evaluation,
  evaluations,
  type Fate,
  type GroupOutcome,
  prompts,
  rollouts,
  type StageSpec,
  stageSpecSchema,
  type Update,
  updates,
} from '../../topics/index.ts'

/** A small run of three stages as records, with a group of every fate. */

const rl = { kind: 'rl', lr: 1e-4, prompts: 2, groupSize: 4, maxTokens: 16, steps: 12 } as const
export const stages: StageSpec[] = [
  { kind: 'sft', name: 'sft', domain: 'mixed', tasks: ['math'], steps: 6, batch: 8, lr: 1e-3 },
  { ...rl, name: 'instruct', domain: 'instruction', task: 'instruction' },
  { ...rl, name: 'math', domain: 'math', task: 'math' },
].map((s) => stageSpecSchema.parse(s))

export const sampleManifest: Manifest = {
  runId: 'sample',
  version: '0.1.0',
  seed: 7,
  deterministic: false,
  createdAt: '2026-01-02T03:04:05.000Z',
  configHash: 'abc',
  config: configSchema.parse({ stages }),
  profile: {},
}

/** Held-out accuracy after each stage: instruction, math. */
const scores: Record<string, [number, number]> = {
  start: [0, 0.04],
  sft: [0.4, 0.3],
  instruct: [0.7, 0.25],
  math: [0.65, 0.6],
}

/** Transactions of the whole run in order; cut them short for one that goes on. */
export function sampleTransactions(): Append[][] {
  const out: Append[][] = []
  let seq = 0
  let version = 0
  const say = (body: Record<string, unknown>) => {
    out.push([{ topic: control, value: { ...body, epoch: 1, seq: seq++ } as Control }])
  }
  const evaluate = (stage: string) => {
    for (const [i, domain] of ['instruction', 'math'].entries()) {
      out.push([{ topic: evaluations, value: evaluation(stage, domain, scores[stage]![i]!, version) }])
    }
  }
  say({ type: 'run-begin', runId: 'sample', seed: 7, deterministic: false, configHash: 'abc', stages })
  evaluate('start')
  for (const [index, spec] of stages.entries()) {
    say({ type: 'stage-begin', stage: spec.name, index, version })
    for (let step = 1; step <= spec.steps; step++) {
      const groups = spec.kind === 'rl' ? stepOutcomes(spec, step, version) : []
      for (const group of groups) out.push([{ topic: advantages(spec.domain), value: group }])
      if (spec.kind === 'rl' && step === 1) out.push(...firstGroup(spec.name, spec.domain))
      const closed = groups.filter((g) => g.outcome === 'kept').slice(0, 2)
      say({
        type: 'batch-closed',
        stage: spec.name,
        step,
        baseVersion: version,
        version: version + 1,
        opens: step === 1,
        groups: closed.map((g) => ({
          groupId: g.groupId,
          admission: g.admission,
          outcomeOffset: 0,
          hash: 'h',
        })),
        counts: { admitted: groups.length, kept: closed.length, filtered: 1, lost: 0 },
      })
      version += 1
      out.push([{ topic: updates, value: updateOf(spec, step, version) }])
    }
    say({ type: 'stage-drain', stage: spec.name, steps: spec.steps, version })
    out.push([{ topic: checkpoints, value: checkpointOf(spec.name, spec.steps, version) }])
    evaluate(spec.name)
    say({
      type: 'stage-end',
      stage: spec.name,
      steps: spec.steps,
      version,
      checkpoint: `${version}-w`,
      reason: 'steps',
      seconds: 60,
    })
  }
  say({ type: 'run-end', version })
  return out
}

export async function write(log: TopicLog, transactions: readonly Append[][]): Promise<void> {
  for (const append of transactions) await log.commit({ append, settle: [] })
}

/** Kept, kept, filtered, and one kept too many. */
function stepOutcomes(spec: StageSpec, step: number, policyVersion: number): GroupOutcome[] {
  const fates: Fate[][] = [
    ['trained', 'trained', 'trained', 'error'],
    ['trained', 'trained', 'skipped', 'trained'],
    ['dropped', 'dropped', 'dropped', 'error'],
    ['trained', 'trained', 'trained', 'trained'],
  ]
  return fates.map((members, i) => {
    const admission = (step - 1) * 4 + i
    const groupId = `${spec.name}-${admission}`
    return {
      ...identity(spec.name, spec.domain, step, admission, policyVersion),
      outcome: i === 2 ? 'filtered' : 'kept',
      verifier: 'exact',
      verifierVersion: '1',
      baseline: { mean: 0.5, deviation: 0.5 },
      members: members.map((fate, index) => ({
        rolloutId: `${groupId}:${index}`,
        index,
        rolloutOffset: admission * 4 + index,
        rolloutHash: 'r',
        ...(fate === 'error' ? {} : { reward: index % 2 }),
        responseLength: 5,
        truncated: false,
        fate,
      })),
    }
  })
}

function identity(stage: string, domain: string, step: number, admission: number, policyVersion: number) {
  const groupId = `${stage}-${admission}`
  return {
    groupId,
    groupSize: 4,
    stage,
    domain,
    dataset: 'd',
    promptId: `p${admission}`,
    epoch: 0,
    step,
    admission,
    visit: 0,
    policyVersion,
  }
}

function firstGroup(stage: string, domain: string): Append[][] {
  const shared = {
    ...identity(stage, domain, 1, 0, 1),
    promptTokens: Int32Array.of(1, 2, 3),
    promptText: '2 + 2 =',
    groundTruth: 4,
    verifier: 'exact',
    sampling: {
      temperature: 1,
      topP: 1,
      topK: 0,
      maxTokens: 16,
      stopTokens: [0],
      logprobsMode: 'processed' as const,
    },
  }
  const rollout = {
    ...shared,
    id: `${shared.groupId}:0`,
    index: 0,
    responseTokens: Int32Array.of(4, 0),
    responseLogprobs: Float32Array.of(-0.5, -0.25),
    logprobsMode: 'processed' as const,
    lossMask: Uint8Array.of(1, 1),
    versionSpans: [{ version: 1, start: 0, end: 2 }],
    finishReason: 'stop' as const,
    status: 'completed' as const,
    responseText: '4\n',
    timings: { generate: 3 },
  }
  return [
    [{ topic: prompts(domain), value: { ...shared, seed: 7 } }],
    [{ topic: rollouts(domain), value: rollout, headers: { trace: 't1' } }],
  ]
}

export function updateOf(spec: StageSpec, step: number, version: number): Update {
  const share = step / spec.steps
  return {
    id: `${spec.name}/${step}`,
    stage: spec.name,
    domain: spec.domain,
    step,
    version,
    gradientBatchOffset: version - 1,
    loss: spec.kind === 'sft' ? 3 - 2 * share : 0.01 * Math.sin(step),
    gradNorm: 1 - share / 2,
    entropy: 2 - share,
    kl: 0,
    clipFraction: 0,
    ratioMean: 1,
    ratioMax: 1,
    lr: 1e-4,
    tokens: 100,
    rows: 8,
    staleness: 0,
    durationMs: 50,
    stats:
      spec.kind === 'sft'
        ? {}
        : { reward: 0.3 + 0.4 * share + 0.05 * Math.sin(step * 2), responseLength: 5 + step / 4 },
  }
}

export function evaluation(stage: string, domain: string, score: number, version: number): Evaluation {
  const n = 100
  return {
    id: `${stage}/${domain}`,
    stage,
    domain,
    version,
    checkpoint: `${version}-w`,
    split: 'held-out',
    metric: 'greedy-accuracy',
    n,
    passed: Math.round(score * n),
    score,
    interval: [Math.max(0, score - 0.09), Math.min(1, score + 0.09)],
    verdicts: new Uint8Array(n),
    responseLength: 5,
    truncated: 0,
    durationMs: 1000,
  }
}

function checkpointOf(stage: string, step: number, version: number) {
  return {
    id: `${version}-w`,
    stage,
    step,
    version,
    reason: 'stage-end' as const,
    path: `checkpoints/${version}-w`,
    writerEpoch: 1,
    contentHash: 'c',
    weightsHash: 'w',
    gradientBatchOffset: version,
    files: [],
  }
}
