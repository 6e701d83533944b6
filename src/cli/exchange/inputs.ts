import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CascadeError } from '../../../topics/index.ts'

export interface Inputs {
  readonly files: readonly string[]
  readonly bytes: number
}

const rows = /\.jsonl(\.gz)?$/

/**
 * The files that a person named, those of named folders and of folders in them, in their natural order: `2.jsonl` before `10.jsonl`, which
 * a shell does not give.
 *
 * @throws `USAGE` naming what is not there, or a folder without rows
 */
export async function inputsOf(named: readonly string[], cwd: string): Promise<Inputs> {
  const found = new Map<string, number>()
  for (const name of named) {
    const path = resolve(cwd, name)
    const about = await stat(path).catch((cause: Error) => {
      throw new CascadeError('USAGE', `--in: expected a file or a folder, got ${name}: ${cause.message}`, {
        cause,
      })
    })
    if (!about.isDirectory()) {
      found.set(path, about.size)
      continue
    }
    const inside = (await readdir(path, { recursive: true })).filter((file) => rows.test(file))
    if (inside.length === 0) {
      throw new CascadeError('USAGE', `--in: expected .jsonl or .jsonl.gz files in ${name}, got none`)
    }
    for (const file of inside) found.set(join(path, file), (await stat(join(path, file))).size)
  }
  const natural = new Intl.Collator('en', { numeric: true })
  const files = [...found.keys()].sort((a, b) => natural.compare(a, b) || (a < b ? -1 : 1))
  return { files, bytes: [...found.values()].reduce((sum, size) => sum + size, 0) }
}
