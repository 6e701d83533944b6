import { writeSync } from 'node:fs'

/** Writes a line at once: nothing of it waits in the process. */
export function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}
