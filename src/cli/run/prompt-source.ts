import { CascadeError } from '../../../topics/index.ts'
import { tokenizer } from '../../model/tokenizer/index.ts'
import { createPromptSource, type TaskSource } from '../../tasks/source.ts'
import type { CascadeConfig } from '../config.ts'
import { openFileTasks } from './file-tasks.ts'

/**
 * The prompts of a config's tasks, once it is known that every stage and evaluation can be served.
 *
 * @param note is told of rows that were skipped
 * @throws `CONFIG_INVALID` naming the field: an unknown task, a domain that is not its task's, a model too short for it; a bad file.
 */
export async function sourceOf(
  config: CascadeConfig,
  seed: number,
  { heldOutSeed, note }: { heldOutSeed?: number | undefined; note?: (text: string) => void } = {},
): Promise<TaskSource> {
  const tasks = new Set(config.stages.flatMap((s) => (s.kind === 'sft' ? s.tasks : [s.task])))
  const own = await openFileTasks(config.tasks ?? {}, [...tasks])
  for (const { name, skipped } of own) {
    if (skipped.length > 0)
      note?.(`tasks.${name}: ${skipped.length} rows were skipped, the first: ${skipped[0]}`)
  }
  const source = createPromptSource({
    seed,
    tokenizer,
    tasks: [...tasks],
    own,
    ...(heldOutSeed === undefined ? {} : { heldOutSeed }),
  })
  for (const stage of config.stages) {
    if (stage.kind === 'rl') source.prompt(stage, 0)
    else source.demonstration(stage, 0)
  }
  for (const domain of source.domains) checkHeldOut(source, domain, config.evaluation.prompts)
  const { maxLength } = config.model
  const fits = (what: string, length: number) => {
    if (length > maxLength) {
      const got = `got ${maxLength}`
      throw new CascadeError(
        'CONFIG_INVALID',
        `model.maxLength: expected at least ${length} for ${what}, ${got}`,
      )
    }
  }
  for (const domain of source.domains) {
    const { promptTokens, responseTokens } = source.limits(domain)
    fits(`the evaluation of ${domain}`, promptTokens + (config.evaluation.maxTokens ?? responseTokens))
    for (const stage of config.stages) {
      if (stage.kind === 'rl' && stage.domain === domain)
        fits(`stage ${stage.name}`, promptTokens + stage.maxTokens)
      if (stage.kind === 'sft') fits(`stage ${stage.name}`, promptTokens + responseTokens)
    }
  }
  return source
}

/** @throws `CONFIG_INVALID`, or `code`, where the task has no such number of held-out prompts */
export function checkHeldOut(
  source: TaskSource,
  domain: string,
  count: number,
  name = 'evaluation.prompts',
  code: 'CONFIG_INVALID' | 'USAGE' = 'CONFIG_INVALID',
): void {
  try {
    source.heldOut(domain, count)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new CascadeError(
      code,
      `${name}: expected at most as many as ${domain} has held-out prompts, got ${count}`,
      { cause },
    )
  }
}
