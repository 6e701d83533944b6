import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Rollout } from '../../../topics/index.ts'
import type { Limits } from '../pool/index.ts'
import type { Bundle } from './bundle.ts'
import { preflight } from './preflight.ts'

export interface TryOptions {
  /** As a person named it, for messages. */
  entry: string
  limits: Partial<Limits>
  /** Recorded rollouts that it must be able to judge. */
  rollouts?: readonly Rollout[]
  signal: AbortSignal
}

/** Tries a bundle in a process of its own, see {@link preflight}; its version. @throws CascadeError VERIFIER_FAILED */
export async function tryBundle(bundle: Bundle, options: TryOptions): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cascade-verifier-'))
  try {
    const file = join(dir, 'candidate.mjs')
    await writeFile(file, bundle.code)
    const about = await preflight({
      rollouts: [],
      ...options,
      module: { file, options: bundle.options },
    })
    return about.version ?? bundle.codeHash.slice(0, 12)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
