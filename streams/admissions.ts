import { demonstrations, type Prompt, prompts, type RlStage } from '../topics/index.ts'
import type { Decision } from './decide.ts'
import { groupId } from './group-id.ts'
import type { Append, PromptSource } from './ports.ts'

export interface AdmissionOptions {
  runId: string
  seed: number
  source: PromptSource
}

type Admit = Extract<Decision, { type: 'admit' }>
type Demonstrate = Extract<Decision, { type: 'demonstrate' }>

/** The `prompts` records of an admission; the same decision gives the same records. */
export function promptRecords(d: Admit, options: AdmissionOptions): Append<Prompt>[] {
  const { runId, seed, source } = options
  const { stage, step, version } = d
  const topic = prompts(stage.domain)
  const sampling = samplingOf(stage, source.stopTokens)
  return upFrom(d.first, d.count).map((admission) => ({
    topic,
    value: {
      ...source.prompt(stage, admission),
      groupId: groupId(runId, stage.name, admission),
      groupSize: stage.groupSize,
      stage: stage.name,
      domain: stage.domain,
      step,
      admission,
      policyVersion: version,
      sampling,
      seed,
    },
  }))
}

/** The `demonstrations` records of an SFT step. */
export function demonstrationRecords(d: Demonstrate, options: AdmissionOptions): Append[] {
  const { stage, step } = d
  return upFrom(d.first, d.count).map(
    (admission) =>
      ({
        topic: demonstrations,
        value: {
          ...options.source.demonstration(stage, admission),
          id: groupId(options.runId, stage.name, admission),
          stage: stage.name,
          step,
          admission,
        },
      }) as Append,
  )
}

function upFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i)
}

function samplingOf(stage: RlStage, stopTokens: readonly number[]): Prompt['sampling'] {
  const { temperature, topP, topK, maxTokens, logprobsMode } = stage
  return { temperature, topP, topK, maxTokens, logprobsMode, stopTokens: [...stopTokens] }
}
