import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Verifiers } from '../../../streams/verify.ts'
import { CascadeError, type Rollout } from '../../../topics/index.ts'
import { verifiers as builtIn } from '../../verifiers/index.ts'

const shape = z.looseObject({
  name: z.string().min(1),
  version: z.string().min(1),
  codeHash: z.string().min(1),
  verify: z.custom<Verifier['verify']>((v) => typeof v === 'function', 'expected a function'),
})

const outcomes: readonly unknown[] = ['score', 'unparsable', 'failed']

/**
 * The verifier that a word names: a built-in one, or a module whose default export is a function that makes one.
 *
 * @throws `USAGE` naming the word or the file, what was expected and what came
 */
export async function verifierOf(word: string, cwd: string): Promise<Verifier> {
  const make = Object.hasOwn(builtIn, word) ? builtIn[word] : undefined
  if (make) return make()
  const file = resolve(cwd, word)
  if (!existsSync(file)) {
    throw new CascadeError(
      'USAGE',
      `--verifier: expected one of ${Object.keys(builtIn).join(', ')}, or the file of a module, got ${word}`,
    )
  }
  const invalid = (what: string, cause?: unknown) =>
    new CascadeError('USAGE', `--verifier: ${word}: ${what}`, { cause })
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  } catch (cause) {
    throw invalid(`cannot load it: ${oneLine(cause)}`, cause)
  }
  if (typeof module.default !== 'function') {
    throw invalid(
      `expected a default export that is a function and returns a verifier, got ${typeof module.default}`,
    )
  }
  let made: unknown
  try {
    made = await (module.default as () => unknown)()
  } catch (cause) {
    throw invalid(`its default export threw: ${oneLine(cause)}`, cause)
  }
  const parsed = shape.safeParse(made)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw invalid(
      `expected a verifier, got one whose field ${issue?.path.join('.') || '(all)'} is not: ${issue?.message}`,
    )
  }
  return checked(made as Verifier)
}

/** One verifier for every rollout, whichever its prompt names. */
export function always(verifier: Verifier): Verifiers {
  return {
    current: () => verifier,
    pinned: (_, version, codeHash) =>
      verifier.version === version && verifier.codeHash === codeHash ? verifier : undefined,
  }
}

/** What types do not hold: a verdict of no known outcome must not pass for a judgement. */
function checked(verifier: Verifier): Verifier {
  const { name, version, codeHash } = verifier
  return {
    name,
    version,
    codeHash,
    async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
      const verdict: unknown = await verifier.verify(rollout, signal)
      const outcome = (verdict as { outcome?: unknown } | null | undefined)?.outcome
      if (outcomes.includes(outcome)) return verdict as Verdict
      throw new CascadeError(
        'VERIFIER_FAILED',
        `expected a verdict of outcome score, unparsable or failed, got ${String(outcome)}`,
      )
    },
  }
}

function oneLine(error: unknown): string {
  return String(error).replaceAll(/\s*\n\s*/g, ' ')
}
