import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { type BuildFailure, build } from 'esbuild'
import { CascadeError } from '../../../topics/index.ts'

/** A verifier's module with all that it imports in one text. */
export interface Bundle {
  readonly code: string
  /** sha256 over code and options: another helper file, or another option, is another version. */
  readonly codeHash: string
  readonly options: unknown
}

/**
 * Bundles a TypeScript or JavaScript file, or an npm module that resolves from `cwd`. Its text depends on no path of this machine.
 *
 * @throws CascadeError VERIFIER_FAILED naming the file, where it cannot be read, parsed or resolved
 */
export async function bundleVerifier(entry: string, cwd: string, options?: unknown): Promise<Bundle> {
  try {
    const { outputFiles } = await build({
      entryPoints: [/^[./]|\.[cm]?[jt]s$/.test(entry) ? resolve(cwd, entry) : entry],
      absWorkingDir: /^[./]|\.[cm]?[jt]s$/.test(entry) ? dirname(resolve(cwd, entry)) : cwd,
      bundle: true,
      write: false,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      // Comments would name the files' paths.
      minifyWhitespace: true,
      legalComments: 'none',
      logLevel: 'silent',
      // Modules of the older kind that are bundled into this form ask for it.
      banner: { js: "import{createRequire as _cr}from'node:module';const require=_cr(import.meta.url);" },
    })
    const code = outputFiles[0]!.text
    const sum = createHash('sha256').update(`${code.length}\n`).update(code)
    return {
      code,
      codeHash: sum.update(JSON.stringify(options ?? null)).digest('hex'),
      options: options ?? null,
    }
  } catch (cause) {
    const errors = (cause as Partial<BuildFailure>).errors ?? []
    const reason = errors.map((e) => `${e.location ? `line ${e.location.line}: ` : ''}${e.text}`).join('; ')
    throw new CascadeError('VERIFIER_FAILED', `${entry}: expected a module: ${reason || String(cause)}`, {
      cause,
    })
  }
}
