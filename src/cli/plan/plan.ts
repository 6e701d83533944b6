import { admissionBudget } from '../../../streams/coordinator-state.ts'
import {
  prompts,
  type RlStage,
  rewards,
  rollouts,
  type SftStage,
  type StageSpec,
} from '../../../topics/index.ts'
import type { TaskSource } from '../../tasks/source.ts'
import type { CascadeConfig } from '../config.ts'

/** What a stage would do. Tokens are those of the longest prompts and responses that it allows: upper bounds. */
export interface StagePlan {
  readonly name: string
  readonly kind: StageSpec['kind']
  readonly domain: string
  /** The stage whose weights it starts from; `start`: the initial ones. */
  readonly from: string
  readonly topics: readonly string[]
  /** At most, where it has exit rules or may run out of signal. */
  readonly steps: number
  readonly exit?: RlStage['exit']
  /** Rollouts at least and, where groups that are not kept are replaced, at most. SFT: none. */
  readonly rollouts: { readonly least: number; readonly most: number }
  /** Tokens of one prompt at most, and of one response. */
  readonly promptTokens: number
  readonly responseTokens: number
  /** Tokens sampled, and tokens that updates go through, prompts included, over the whole stage at most. */
  readonly sampledTokens: number
  readonly trainedTokens: number
}

export interface Plan {
  readonly stages: readonly StagePlan[]
  /** Domains scored before the first stage and after every one. */
  readonly evaluations: {
    readonly domains: readonly string[]
    readonly prompts: number
    readonly sampledTokens: number
  }
}

/** What a run of this config would do, by its numbers alone. */
export function planOf(config: CascadeConfig, source: TaskSource): Plan {
  const sizes = source.domains.map((domain) => source.limits(domain))
  const longest = {
    promptTokens: Math.max(...sizes.map((s) => s.promptTokens)),
    responseTokens: Math.max(...sizes.map((s) => s.responseTokens)),
  }
  let from = 'start'
  const stages = config.stages.map((stage) => {
    const plan =
      stage.kind === 'sft'
        ? supervised(stage, from, longest)
        : explored(stage, from, source.limits(stage.domain).promptTokens)
    from = stage.name
    return plan
  })
  const held = config.evaluation.prompts
  const response = (domain: string) => config.evaluation.maxTokens ?? source.limits(domain).responseTokens
  return {
    stages,
    evaluations: {
      domains: source.domains,
      prompts: held,
      sampledTokens: source.domains.reduce((sum, d) => sum + response(d) * held, 0) * (stages.length + 1),
    },
  }
}

function supervised(
  stage: SftStage,
  from: string,
  { promptTokens, responseTokens }: { promptTokens: number; responseTokens: number },
): StagePlan {
  const { name, kind, domain, steps, batch } = stage
  return {
    name,
    kind,
    domain,
    from,
    topics: ['demonstrations'],
    steps,
    rollouts: { least: 0, most: 0 },
    promptTokens,
    responseTokens,
    sampledTokens: 0,
    trainedTokens: steps * batch * (promptTokens + responseTokens),
  }
}

function explored(stage: RlStage, from: string, promptTokens: number): StagePlan {
  const { name, kind, domain, steps, groupSize, maxTokens, exit } = stage
  const most = steps * admissionBudget(stage) * groupSize
  const trained = steps * stage.prompts * groupSize
  return {
    name,
    kind,
    domain,
    from,
    topics: [prompts(domain).name, rollouts(domain).name, rewards(domain).name, `advantages.${domain}`],
    steps,
    ...(exit === undefined ? {} : { exit }),
    rollouts: { least: trained, most },
    promptTokens,
    responseTokens: maxTokens,
    sampledTokens: most * maxTokens,
    trainedTokens: trained * (promptTokens + maxTokens),
  }
}
