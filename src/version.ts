import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const packageSchema = z.object({
  version: z.string(),
  engines: z.object({ node: z.string().regex(/^>=\d+\.\d+$/) }),
})

/** This package's package.json: the nearest one above, which holds for the sources and for the build. */
function ownPackage(): z.infer<typeof packageSchema> {
  for (let dir = dirname(fileURLToPath(import.meta.url)); ; dir = dirname(dir)) {
    try {
      return packageSchema.parse(JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(dir) === dir) throw error
    }
  }
}

export function packageVersion(): string {
  return ownPackage().version
}

/** Major and minor version of the lowest Node that runs this package. */
export function lowestNode(): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = ownPackage().engines.node.slice(2).split('.').map(Number)
  return [major, minor]
}
