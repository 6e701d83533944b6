import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CascadeInput } from '../../src/cli/config.ts'
import type { RlStage, StageSpec } from '../../topics/index.ts'
import { stageSpecSchema } from '../../topics/index.ts'
import type { Trained } from './train.ts'

export interface Arm {
  name: string
  stage: string
  domain: string
  config: CascadeInput
}

/** Every RL stage of a run again, from the weights that it began with, without what it should learn from. */
export function controlArms(config: CascadeInput, whole: Trained): Arm[] {
  const stages = config.stages.map((s) => stageSpecSchema.parse(s))
  return stages.flatMap((stage, i) =>
    stage.kind === 'rl' ? armsOf(config, stage, stages[i - 1]!, whole) : [],
  )
}

function armsOf(config: CascadeInput, stage: RlStage, before: StageSpec, whole: Trained): Arm[] {
  const init = checkpointOf(whole.dir, before.name)
  const { name, domain, steps, task } = stage
  const arm = (label: string, only: CascadeInput['stages'][number]): Arm => ({
    name: label,
    stage: name,
    domain,
    config: { ...config, model: { ...config.model, init }, stages: [only] },
  })
  return [
    arm('rewards permuted', { ...stage, permuteRewards: true }),
    arm('learning rate 0', { ...stage, lr: 0 }),
    arm('further SFT', {
      kind: 'sft',
      name,
      domain,
      tasks: [task],
      steps,
      batch: stage.prompts * stage.groupSize,
      lr: 2e-4,
    }),
  ]
}

/** The folder of the checkpoint that a stage ended with: the one whose manifest says so. */
function checkpointOf(run: string, stage: string): string {
  const parent = join(run, 'checkpoints')
  for (const id of readdirSync(parent)) {
    const manifest = JSON.parse(readFileSync(join(parent, id, 'manifest.json'), 'utf8')) as Record<
      string,
      unknown
    >
    if (manifest.stage === stage && manifest.reason === 'stage-end') return join(parent, id)
  }
  throw new Error(`${parent}: no checkpoint of the end of stage ${stage}`)
}
