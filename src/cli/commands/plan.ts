import { freemem } from 'node:os'
import { resolve } from 'node:path'
import { tokenizer } from '../../model/tokenizer/index.ts'
import type { Context, Register } from '../command.ts'
import type { CascadeConfig } from '../config.ts'
import { byteSize } from '../output/format.ts'
import { print } from '../output/print.ts'
import { type MemoryPlan, memoryOf } from '../plan/memory.ts'
import { type Plan, planOf } from '../plan/plan.ts'
import { measureRates, type Rates, timeOf } from '../plan/rates.ts'
import { planText, type Timed } from '../plan/text.ts'
import { engineOf } from '../run/engine.ts'
import { checkServed, configOf } from '../run/served-config.ts'
import { bundleFiles, checkEnvironment } from '../run/used-verifiers.ts'
import { modelOf } from '../run-folder.ts'

interface Flags {
  measure: boolean
  json?: true
}

export const register: Register = (program, context) => {
  program
    .command('plan')
    .description(
      'What a run of a config would do: stages, topics, rollouts, tokens, memory and time. Checks all that a run checks before it begins, and starts none.',
    )
    .argument('[config]', 'as of cascade run')
    .option(
      '--no-measure',
      'leave out the time: it is measured with this model on this machine, for some seconds',
    )
    .option('--json', 'one JSON object: {config, stages, evaluations, memory, time}')
    .addHelpText('after', '\nExample:\n  $ cascade plan cascade.config.ts')
    .action((config: string | undefined, flags: Flags) => plan(config, flags, context))
}

async function plan(given: string | undefined, flags: Flags, context: Context): Promise<void> {
  const { stdout, env, signal } = context
  const { config, name } = await configOf(given, context)
  const source = await checkServed(config, name, 0)
  checkEnvironment(config, env)
  await bundleFiles(config, signal)
  const planned = planOf(config, source)
  const memory = memoryOf(config, modelOf(config, tokenizer.vocabSize))
  const time = flags.measure ? await timed(config, planned, memory, signal) : undefined
  const text = flags.json
    ? JSON.stringify({
        config: given === undefined ? name : resolve(context.cwd, given),
        ...planned,
        memory,
        time: time ?? null,
      })
    : planText(planned, memory, time)
  await print(stdout, `${text}\n`, signal)
}

/** @throws what the engine throws; a model that does not fit is not tried */
async function timed(
  config: CascadeConfig,
  planned: Plan,
  memory: MemoryPlan,
  signal: AbortSignal,
): Promise<Timed> {
  const free = freemem()
  if (memory.total > free) {
    return {
      seconds: undefined,
      why: `this machine has ${byteSize(free)} free, and a run needs about ${byteSize(memory.total)}`,
    }
  }
  await using engine = await engineOf(config, false)
  const rates = new Map<string, Rates>()
  for (const stage of planned.stages) rates.set(stage.name, await measureRates(engine, config, stage, signal))
  const { stages, evaluations } = timeOf(planned, rates)
  return {
    seconds: stages.reduce((a, b) => a + b, 0) + evaluations,
    stages,
    evaluations,
    rates: planned.stages.map((s) => rates.get(s.name)!),
  }
}
