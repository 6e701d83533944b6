import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, extname, join, resolve } from 'node:path'
import type { Verifier } from '../../../streams/ports.ts'
import type { Verifiers } from '../../../streams/verify.ts'
import { CascadeError } from '../../../topics/index.ts'
import { verifiers as builtIn } from '../../verifiers/index.ts'
import { bundleVerifier } from '../../verifiers/swap/bundle.ts'
import { preflight } from '../../verifiers/swap/preflight.ts'
import { storedVerifier } from '../../verifiers/swap/stored-verifier.ts'

export interface Opened extends AsyncDisposable {
  readonly verifier: Verifier
}

/**
 * The verifier that a word names: a built-in one, or the file of a module as `cascade verifiers stage` takes it, judged in processes of
 * its own. It is called by the file's name.
 *
 * @throws `USAGE` where it is neither; `VERIFIER_FAILED` where the module is refused
 */
export async function verifierOf(
  word: string,
  { cwd, timeoutMs, signal }: { cwd: string; timeoutMs: number; signal: AbortSignal },
): Promise<Opened> {
  const make = Object.hasOwn(builtIn, word) ? builtIn[word] : undefined
  if (make) return { verifier: make(), async [Symbol.asyncDispose]() {} }
  const source = resolve(cwd, word)
  if (!existsSync(source)) {
    throw new CascadeError(
      'USAGE',
      `--verifier: expected one of ${Object.keys(builtIn).join(', ')}, or the file of a module, got ${word}`,
    )
  }
  const { code, codeHash, options } = await bundleVerifier(source, cwd)
  const dir = await mkdtemp(join(tmpdir(), 'cascade-verifier-'))
  const file = join(dir, 'verifier.mjs')
  const remove = () => rm(dir, { recursive: true, force: true })
  try {
    await writeFile(file, code)
    const limits = { wallMs: timeoutMs }
    const module = { file, options }
    const about = await preflight({ entry: word, module, limits, rollouts: [], signal })
    const name = basename(word, extname(word))
    const stored = { ...module, name, version: about.version ?? codeHash.slice(0, 12) }
    const verifier = storedVerifier({ codeHash, stored, size: availableParallelism(), limits })
    return {
      verifier,
      async [Symbol.asyncDispose]() {
        await verifier[Symbol.asyncDispose]()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** One verifier for every rollout, whichever its prompt names. */
export function always(verifier: Verifier): Verifiers {
  return {
    current: () => verifier,
    pinned: (_, version, codeHash) =>
      verifier.version === version && verifier.codeHash === codeHash ? verifier : undefined,
  }
}
