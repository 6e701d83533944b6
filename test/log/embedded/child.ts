import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const folder = join(import.meta.dirname, 'children')

/** A process of its own, running a script of `children/`, that speaks in lines and ends with this one. */
export class Child implements AsyncDisposable {
  readonly pid: number
  /** Every line so far. */
  readonly lines: string[] = []
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>
  readonly #process: ChildProcess
  #stderr = ''
  #changed: () => void = () => undefined
  #over = false

  /** @param command what runs the script, such as a tracer: node is its last argument */
  constructor(script: string, args: readonly string[], command: readonly string[] = []) {
    const leash = pathToFileURL(join(folder, 'leash.ts')).href
    const node = [process.execPath, '--import', leash, join(folder, script), ...args]
    const [file, ...rest] = [...command, ...node]
    const child = spawn(file!, rest, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#process = child
    this.pid = child.pid!
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    const reader = createInterface({ input: child.stdout })
    reader.on('line', (line) => {
      this.lines.push(line)
      this.#changed()
    })
    const closed = new Promise((resolve) => reader.once('close', resolve))
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        void closed.then(() => {
          this.#over = true
          this.#changed()
          resolve(code ?? signal!)
        })
      })
    })
  }

  /** The first line that passes, whether it has come or is to come. */
  async line(passes: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.lines.find(passes)
      if (found !== undefined) return found
      if (this.#over)
        throw new Error(`the child has ended: ${this.lines.slice(-3).join(' | ')} ${this.#stderr}`)
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.exited
  }

  get stderr(): string {
    return this.#stderr
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) await this.kill()
  }
}
