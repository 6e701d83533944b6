import type { Output } from '../command.ts'

/** Lines at the bottom of a terminal that are rewritten in place, with permanent ones scrolling above them. */
export class LiveArea {
  readonly #output: Output
  #lines: readonly string[] = []

  constructor(output: Output) {
    this.#output = output
  }

  /** Lines must be narrower than the terminal: one that wraps would be counted wrong. */
  paint(lines: readonly string[]): void {
    // A terminal that does not keep up gets the next picture, not every one.
    if (this.#output.writableNeedDrain || same(lines, this.#lines)) return
    this.#output.write(this.#erase() + lines.join('\n'))
    this.#lines = lines
  }

  print(lines: readonly string[]): void {
    if (lines.length === 0) return
    this.#output.write(`${this.#erase()}${lines.join('\n')}\n${this.#lines.join('\n')}`)
  }

  clear(): void {
    this.#output.write(this.#erase())
    this.#lines = []
  }

  #erase(): string {
    const up = this.#lines.length > 1 ? `\x1b[${this.#lines.length - 1}A` : ''
    return this.#lines.length > 0 ? `\r${up}\x1b[J` : ''
  }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, i) => line === b[i])
}
