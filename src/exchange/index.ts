import { CascadeError } from '../../topics/index.ts'
import { areal } from './areal.ts'
import type { Format } from './foreign.ts'
import { nemoRl } from './nemo-rl.ts'
import { pipelinerl } from './pipelinerl.ts'
import { plain } from './plain.ts'
import { verl } from './verl.ts'

export type * from './foreign.ts'
export { RowFault } from './row.ts'

/** Formats of rollouts, one JSON value a line. To add one: copy a file beside this one, add its line here, its test, its table to `docs/exchange.md`. */
export const formats: readonly Format[] = [plain, nemoRl, pipelinerl, verl, areal]

/** @throws CascadeError USAGE naming those that there are */
export function formatNamed(name: string): Format {
  const format = formats.find((f) => f.name === name)
  if (format) return format
  const names = formats.map((f) => f.name).join(', ')
  throw new CascadeError('USAGE', `--format: expected one of ${names}, got ${name}`)
}
