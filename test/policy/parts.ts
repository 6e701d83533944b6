import { parseConfig } from '../../src/cli/config.ts'
import { engineOf } from '../../src/cli/run/engine.ts'
import { sourceOf } from '../../src/cli/run/prompt-source.ts'
import type { Engine } from '../../src/model/engine/index.ts'
import type { TaskSource } from '../../src/tasks/source.ts'
import { quickRun } from '../cli/run/quick-run.ts'

/** Engine and tasks of a small run, without its log. */
export async function parts(deterministic: boolean): Promise<{ engine: Engine; source: TaskSource }> {
  const config = parseConfig(quickRun(), 'quick run')
  return { engine: await engineOf(config, deterministic), source: await sourceOf(config, 0) }
}
