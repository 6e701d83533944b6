import { CascadeError } from '../../topics/index.ts'

/** A config with its sub-stages written out as stages, and where a field of it stands in what was given. */
export interface Expanded {
  readonly value: unknown
  /** @param path of a field in `value` */
  given(path: readonly PropertyKey[]): readonly PropertyKey[]
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Writes each stage that has `subStages` out as so many stages, one after the other: each has the fields of the stage and, over them, its own. A
 * sub-stage is called `<stage>-<number>` unless it has a name. From the second on the optimiser goes on where the one before left it, without
 * another warm-up, unless the sub-stage itself says otherwise.
 *
 * @throws `CONFIG_INVALID` where `subStages` is no list of objects, or an empty one
 */
export function expandSubStages(config: unknown, where: string): Expanded {
  if (!isFields(config) || !Array.isArray(config.stages)) return { value: config, given: (path) => path }
  const origins: { stage: number; sub?: number; own?: Fields; inherited?: Fields }[] = []
  const stages: unknown[] = []
  for (const [i, stage] of (config.stages as unknown[]).entries()) {
    if (!isFields(stage) || stage.subStages === undefined) {
      stages.push(stage)
      origins.push({ stage: i })
      continue
    }
    const { subStages, ...inherited } = stage
    if (!Array.isArray(subStages) || subStages.length === 0 || !subStages.every(isFields)) {
      throw new CascadeError(
        'CONFIG_INVALID',
        `${where}: stages[${i}].subStages: expected a list of at least one object, got ${JSON.stringify(subStages)}`,
      )
    }
    for (const [j, own] of (subStages as Fields[]).entries()) {
      const goesOn = j > 0 ? { resetOptimizer: false, warmup: 0 } : {}
      stages.push({ ...inherited, ...goesOn, name: `${String(stage.name)}-${j + 1}`, ...own })
      origins.push({ stage: i, sub: j, own, inherited })
    }
  }
  return {
    value: { ...config, stages },
    given(path) {
      const [section, index, field] = path
      const origin = section === 'stages' && typeof index === 'number' ? origins[index] : undefined
      if (!origin) return path
      const { stage, sub, own, inherited } = origin
      const rest = path.slice(2)
      const has = (fields: Fields | undefined) => fields !== undefined && Object.hasOwn(fields, String(field))
      if (sub === undefined || (!has(own) && has(inherited))) return ['stages', stage, ...rest]
      return ['stages', stage, 'subStages', sub, ...rest]
    },
  }
}
