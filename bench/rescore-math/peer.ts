import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { peerMissing, python } from '../peers/python.ts'
import type { Pair } from './pairs.ts'

const answer = z.object({ seconds: z.number(), verdicts: z.array(z.boolean()) })
type Answer = z.infer<typeof answer>

/** Math-Verify in processes of its own that stay. */
export class MathVerify implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #reader: Interface
  #error = ''

  constructor(processes: number, timeoutSeconds: number) {
    const script = fileURLToPath(new URL('../peers/math_verify_pool.py', import.meta.url))
    this.#process = spawn(python(), [script, String(processes), String(timeoutSeconds)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#process.on('error', (error) => {
      this.#error += error.message
    })
    this.#process.stderr!.on('data', (text: Buffer) => {
      this.#error = (this.#error + String(text)).slice(-2_000)
    })
    this.#process.stdin!.on('error', (error) => {
      this.#error ||= error.message
    })
    this.#reader = createInterface({ input: this.#process.stdout! })
    this.#lines = this.#reader[Symbol.asyncIterator]()
  }

  /** Verdicts in order, and the seconds that reading and comparing took, without what it takes to hand the pairs over. */
  async judge(pairs: readonly Pair[]): Promise<Answer> {
    const given = pairs.map(({ answer: gold, response }) => [`$${gold}$`, response])
    this.#process.stdin!.write(`${JSON.stringify(given)}\n`)
    const { value, done } = await this.#lines.next()
    if (done) throw peerMissing('math_verify_pool.py', ['math-verify==0.9.0'], this.#error)
    return answer.parse(JSON.parse(value))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader.close()
    this.#process.stdin!.end()
    if (this.#process.exitCode === null && this.#process.pid !== undefined) await once(this.#process, 'exit')
  }
}
