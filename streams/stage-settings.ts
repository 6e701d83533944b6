import { type SettingAsked, type StageSetting, type StageSpec, stageSpecSchema } from '../topics/index.ts'

const ofEvery = ['lr', 'weightDecay', 'maxGradNorm', 'checkpointEvery'] as const
const ofRl = ['temperature', 'topP', 'topK', 'minGroups', 'patience', 'maxErrorShare'] as const

/** Fields of a stage that may be set while it goes on: those that only admission, the closing of a step and its update read. */
export function settableFields(kind: StageSpec['kind']): readonly string[] {
  return kind === 'rl' ? [...ofEvery, ...ofRl] : ofEvery
}

/** Why a stage cannot have this value, with the field named; nothing where it can. */
export function settingFault(
  stages: readonly StageSpec[],
  { stage, field, value }: SettingAsked,
): string | undefined {
  const spec = stages.find((s) => s.name === stage)
  if (!spec)
    return `${stage}: expected one of the stages ${stages.map((s) => s.name).join(', ')}, got ${stage}`
  const fields = settableFields(spec.kind)
  if (!fields.includes(field)) return `${stage}.${field}: expected one of ${fields.join(', ')}, got ${field}`
  const parsed = stageSpecSchema.safeParse({ ...spec, [field]: value })
  if (!parsed.success) return `${stage}.${field}: ${parsed.error.issues[0]!.message}, got ${value}`
  if (spec.kind === 'rl' && field === 'minGroups' && value > spec.prompts)
    return `${stage}.${field}: expected at most prompts (${spec.prompts}), got ${value}`
  return undefined
}

/** The stage as it is with settings. */
export function withSettings<S extends StageSpec>(
  spec: S,
  settings: Readonly<Record<string, number>> = {},
): S {
  return { ...spec, ...settings }
}

/** Settings of every stage, folded from `control`. Which of them hold for a step depends on nothing else. */
export class StageSettings {
  readonly #of = new Map<string, StageSetting[]>()

  apply(setting: StageSetting): void {
    if (setting.refused !== undefined) return
    const there = this.#of.get(setting.stage) ?? []
    there.push(setting)
    this.#of.set(setting.stage, there)
  }

  /** Those that hold for a step, the last of each field; nothing where there are none. */
  at(stage: string, step: number): Record<string, number> | undefined {
    const held = (this.#of.get(stage) ?? []).filter((s) => s.step <= step)
    return held.length === 0 ? undefined : Object.fromEntries(held.map((s) => [s.field, s.value]))
  }
}
