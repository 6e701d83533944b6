import { Writable } from 'node:stream'
import type { Output } from '../../src/cli/command.ts'

/** An output that keeps what was written. */
export class MemoryOutput extends Writable implements Output {
  readonly isTTY: boolean
  readonly columns: number
  text = ''

  constructor(options: { isTTY?: boolean; columns?: number } = {}) {
    super({ decodeStrings: false })
    this.isTTY = options.isTTY ?? false
    this.columns = options.columns ?? 100
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.text += String(chunk)
    done()
  }

  lines(): string[] {
    return this.text.split('\n').slice(0, -1)
  }
}
