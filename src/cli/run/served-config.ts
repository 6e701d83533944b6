import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import { tokenizer } from '../../model/tokenizer/index.ts'
import type { TaskSource } from '../../tasks/source.ts'
import { readFolder } from '../../update/load-checkpoint.ts'
import type { Context } from '../command.ts'
import { type CascadeConfig, configFile, loadConfig, parseConfig } from '../config.ts'
import { laptop } from '../default-config.ts'
import { modelOf } from '../run-folder.ts'
import { sourceOf } from './prompt-source.ts'

/** The config that a command is given; without one that of the folder, or the built-in one. @throws `CONFIG_INVALID` */
export async function configOf(
  given: string | undefined,
  context: Context,
): Promise<{ config: CascadeConfig; name: string }> {
  const file = resolve(context.cwd, given ?? configFile)
  if (given !== undefined || existsSync(file)) return { config: await loadConfig(file), name: file }
  const name = 'the built-in config'
  return { config: parseConfig(laptop, name), name }
}

/** @throws `CONFIG_INVALID` naming the config and its field: prompts that are not there, weights that do not fit */
export async function checkServed(config: CascadeConfig, name: string, seed: number): Promise<TaskSource> {
  const { init } = config.model
  try {
    const source = await sourceOf(config, seed)
    if (init !== undefined) await readFolder(modelOf(config, tokenizer.vocabSize), init)
    return source
  } catch (cause) {
    if (!isCascadeError(cause)) throw cause
    const field = cause.code === 'CONFIG_INVALID' ? '' : 'model.init: '
    throw new CascadeError('CONFIG_INVALID', `${name}: ${field}${cause.message}`, { cause })
  }
}
