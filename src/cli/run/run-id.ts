import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** A name for a new run under `parent`: its UTC time to the second, with a number where that is taken. */
export function newRunId(parent: string, at: Date): string {
  const time = at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  for (let n = 1; ; n++) {
    const id = n === 1 ? time : `${time}-${n}`
    if (!existsSync(join(parent, id))) return id
  }
}
