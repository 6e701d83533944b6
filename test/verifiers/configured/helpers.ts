import type { OpenOptions } from '../../../src/verifiers/configured/open.ts'
import { verifierEntriesSchema } from '../../../src/verifiers/configured/schema.ts'
import { ConfiguredVerifiers } from '../../../src/verifiers/configured/verifiers.ts'

/** Verifiers of a config's section, in small. */
export function configured(
  names: readonly string[],
  entries: unknown = {},
  options: Partial<OpenOptions> = {},
): Promise<ConfiguredVerifiers> {
  return ConfiguredVerifiers.open(names, {
    entries: verifierEntriesSchema.parse(entries),
    concurrency: 8,
    size: 1,
    limits: { wallMs: 5_000 },
    env: {},
    stored: (name) => Promise.reject(new Error(`no module for ${name}`)),
    ...options,
  })
}
