import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { packageVersion } from '../../version.ts'
import { codeHash } from '../judge.ts'
import { kindNamed } from '../kinds.ts'
import { type KindEntryOf, runKindOf } from './run-kinds.ts'

export interface Identity {
  readonly version: string
  /** Hash of its code and options. */
  readonly codeHash: string
}

/**
 * Math, instruction and patch: the sources that decide, and the options. Other kinds: the kind's own version, that of this package, the
 * options, and what a model's folder holds.
 */
export async function identityOf(entry: KindEntryOf): Promise<Identity> {
  const { version } = await kindNamed(entry.kind).load()
  const kind = runKindOf(entry)
  const hash = await kind.codeHash?.(entry)
  const { flags, defaults } = { flags: kind.flags(entry), defaults: kind.defaults?.(entry) ?? {} }
  const folder = flags.model ?? flags.embedding
  const model = typeof folder === 'string' ? await folderHash(folder) : undefined
  const own = hash ?? { version, package: packageVersion() }
  return { version, codeHash: codeHash(sources(), { kind: entry.kind, own, flags, defaults, model }) }
}

/** What makes a case of a rollout decides as well. */
function sources(): string[] {
  return ['kind-judge', 'code-of'].map(
    (file) => new URL(`./${file}${import.meta.url.slice(-3)}`, import.meta.url).href,
  )
}

/** sha256 over the names and contents of the files in a folder. */
async function folderHash(dir: string): Promise<string> {
  const sum = createHash('sha256')
  const files = (await readdir(dir, { withFileTypes: true })).filter((f) => f.isFile()).map((f) => f.name)
  for (const name of files.sort()) {
    sum.update(`${name}\n`)
    for await (const part of createReadStream(join(dir, name))) sum.update(part as Buffer)
  }
  return sum.digest('hex')
}
