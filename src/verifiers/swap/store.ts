import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CascadeError } from '../../../topics/index.ts'
import { syncFolder } from '../../sync-folder.ts'
import type { Bundle } from './bundle.ts'

const metaSchema = z.object({ name: z.string(), version: z.string(), options: z.unknown() })
export type StoredMeta = z.infer<typeof metaSchema>

export interface Stored extends StoredMeta {
  /** Of the module. */
  readonly file: string
}

/** The verifier versions of a run, by content: `verifiers/<hash>.mjs` and `<hash>.json` in its folder. */
export class VerifierStore {
  readonly #dir: string

  constructor(runDir: string) {
    this.#dir = join(runDir, 'verifiers')
  }

  /** Synced before it returns: a record may name it from then on. */
  async put(bundle: Bundle, meta: Omit<StoredMeta, 'options'>): Promise<Stored> {
    await mkdir(this.#dir, { recursive: true })
    const { codeHash, code, options } = bundle
    await this.#write(`${codeHash}.mjs`, code)
    await this.#write(`${codeHash}.json`, JSON.stringify({ ...meta, options }))
    await syncFolder(this.#dir)
    return { ...meta, options, file: join(this.#dir, `${codeHash}.mjs`) }
  }

  /** @throws CascadeError VERIFIER_FAILED where it is not there or damaged */
  async get(codeHash: string): Promise<Stored> {
    const file = join(this.#dir, `${codeHash}.json`)
    try {
      const meta = metaSchema.parse(JSON.parse(await readFile(file, 'utf8')))
      return { ...meta, file: join(this.#dir, `${codeHash}.mjs`) }
    } catch (cause) {
      throw new CascadeError('VERIFIER_FAILED', `${file}: expected a stored verifier: ${String(cause)}`, {
        cause,
      })
    }
  }

  async #write(name: string, text: string): Promise<void> {
    const temporary = join(this.#dir, `.${name}.${process.pid}.tmp`)
    await writeFile(temporary, text, { flush: true })
    await rename(temporary, join(this.#dir, name))
  }
}
