import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CascadeError } from '../../../topics/index.ts'
import { tokenizer } from '../../model/tokenizer/index.ts'
import { type FileTask, openFileTask } from '../../tasks/file-task.ts'
import type { FileTaskEntry } from '../../tasks/schema.ts'

type Entries = Readonly<Record<string, FileTaskEntry>>

/** Makes the paths of entries absolute and notes what their files hold. @throws CascadeError CONFIG_INVALID naming the field */
export async function pinFileTasks(entries: Entries, folder: string, where: string): Promise<void> {
  for (const [name, entry] of Object.entries(entries)) {
    entry.path = resolve(folder, entry.path)
    if (entry.heldOut !== undefined) entry.heldOut = resolve(folder, entry.heldOut)
    entry.content = await contentOf(entry).catch((cause: unknown) => {
      throw new CascadeError('CONFIG_INVALID', `${where}: tasks.${name}.path: ${(cause as Error).message}`, {
        cause,
      })
    })
  }
}

/**
 * The tasks among `names` that are rows of files, each as the config found it.
 *
 * @throws CascadeError CONFIG_INVALID: a file that has changed since, and what {@link openFileTask} refuses
 */
export async function openFileTasks(entries: Entries, names: readonly string[]): Promise<FileTask[]> {
  const used = Object.entries(entries).filter(([name]) => names.includes(name))
  return Promise.all(
    used.map(async ([name, { content, ...entry }]) => {
      const there = await contentOf(entry)
      if (content !== undefined && content !== there) {
        throw new CascadeError(
          'CONFIG_INVALID',
          `tasks.${name}: ${entry.path}: expected the rows that the run began with (sha256 ${content}), got others (${there})`,
        )
      }
      return openFileTask({ ...entry, name }, (text) => tokenizer.encode(text).length)
    }),
  )
}

async function contentOf({ path, heldOut }: Pick<FileTaskEntry, 'path' | 'heldOut'>): Promise<string> {
  const sum = createHash('sha256')
  for (const file of heldOut === undefined ? [path] : [path, heldOut]) {
    await pipeline(createReadStream(file), sum, { end: false })
  }
  return sum.digest('hex')
}
