import type { Output } from '../command.ts'
import { LiveArea } from '../output/live-area.ts'
import { cut } from '../output/style.ts'

export interface LongWork extends Disposable {
  /** What is being done now. */
  at(text: string): void
}

/** Says on stderr how long work goes on: in place on a terminal, elsewhere a line every few seconds. */
export function longWork(stderr: Output, everyMs = 3000): LongWork {
  const area = stderr.isTTY ? new LiveArea(stderr) : undefined
  let last = Date.now()
  return {
    at(text) {
      if (area) return area.paint([cut(text, (stderr.columns ?? 100) - 1)])
      if (Date.now() - last < everyMs) return
      last = Date.now()
      stderr.write(`${text}\n`)
    },
    [Symbol.dispose]: () => area?.clear(),
  }
}
