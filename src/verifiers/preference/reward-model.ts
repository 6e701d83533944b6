import { z } from 'zod'
import type { Verdict, Verifier } from '../../../streams/ports.ts'
import { CascadeError, type Rollout } from '../../../topics/index.ts'
import { readRewardModel } from '../../model/reward/index.ts'
import type { CaseJudge, CaseKind, KindOptions } from '../case-kind.ts'
import { codeHash } from '../judge.ts'
import { RewardJudge } from './reward-judge.ts'

const version = '1'

export const preferenceCase = z.strictObject({ id: z.string(), prompt: z.string(), response: z.string() })
export type PreferenceCase = z.infer<typeof preferenceCase>

/** Responses to prompts against a reward model, which the flag `model` names by its folder. */
export const preferenceKind: CaseKind<PreferenceCase> = {
  name: 'preference',
  version,
  schema: preferenceCase,
  work: 'pooled',
  async open({ flags, jobs }: KindOptions): Promise<CaseJudge<PreferenceCase>> {
    const folder = flags.model
    if (typeof folder !== 'string' || folder === '') {
      const got = folder === undefined ? 'none' : JSON.stringify(folder)
      throw new CascadeError(
        'USAGE',
        `--model: preference: expected the folder of a reward model, got ${got}; cascade reward-model train makes one`,
      )
    }
    return RewardJudge.open({ name: 'preference', model: await readRewardModel(folder), threads: jobs })
  },
}

export interface RewardModelOptions {
  /** Of the verifier, as prompts and rewards carry it. @default preference */
  name?: string
  /** Folder of the model. */
  model: string
  /** Threads within an operator. @default the processors this process may use */
  threads?: number
}

/**
 * A reward model as the verifier of a run. Its version and code hash are those of the weights, so that a model which is trained on is
 * another version.
 *
 * @throws CascadeError CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID, CHECKPOINT_SHAPE, MODEL_INVALID, ENGINE_FAILED
 */
export async function rewardModelVerifier(options: RewardModelOptions): Promise<Verifier & AsyncDisposable> {
  const { name = 'preference', threads } = options
  const model = await readRewardModel(options.model)
  const judge = await RewardJudge.open({ name, model, threads })
  return Object.freeze({
    name,
    version: `${version}-${model.hash.slice(0, 8)}`,
    codeHash: codeHash(sources(), { name, weights: model.hash }),
    verify: ({ promptText, responseText }: Rollout, signal: AbortSignal): Promise<Verdict> =>
      judge.judge({ prompt: promptText, response: responseText }, signal),
    [Symbol.asyncDispose]: () => judge[Symbol.asyncDispose](),
  })
}

/** What decides a score beside the weights. */
function sources(): string[] {
  const here = import.meta.url
  const extension = here.endsWith('.ts') ? '.ts' : '.js'
  const others = [
    './reward-judge',
    '../../model/reward/encode',
    '../../model/reward/texts',
    '../../model/graph/reward-graph',
    '../../model/graph/transformer',
  ]
  return [here, ...others.map((file) => new URL(file + extension, here).href)]
}
