import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { CascadeInput } from '../../../src/cli/config.ts'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import { topicNamed } from '../../../topics/registry.ts'

/** Runs the real program in processes of its own. */

const repository = resolve(import.meta.dirname, '../../..')
const program = join(repository, 'bin/cascade.js')

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Running {
  readonly ended: Promise<Ended>
  /** Resolves once its output holds the text; rejects where it ends without. */
  says(text: string): Promise<void>
  /** Its standard output so far. */
  output(): string
  kill(signal: NodeJS.Signals): void
}

export function start(args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, NO_COLOR: '1', ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = new Promise<Ended>((done, failed) => {
    child.on('error', failed)
    child.on('close', (code, signal) => done({ code, signal, stdout, stderr }))
  })
  return {
    ended,
    says: (text) =>
      new Promise((done, failed) => {
        const look = () => {
          if (stdout.includes(text)) done()
        }
        child.stdout.on('data', look)
        child.on('close', () => failed(new Error(`expected ${text}, got ${stdout}${stderr}`)))
        look()
      }),
    output: () => stdout,
    kill: (signal) => void child.kill(signal),
  }
}

export const cascade = (args: readonly string[], env?: Record<string, string>): Promise<Ended> =>
  start(args, env).ended

/** A folder that goes with its test. */
export async function workspace(): Promise<AsyncDisposable & { dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'cascade-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

export async function writeConfig(dir: string, config: CascadeInput): Promise<string> {
  const file = join(dir, 'cascade.config.mjs')
  await writeFile(file, `export default ${JSON.stringify(config)}\n`)
  return file
}

const clocks = new Set([
  'durationMs',
  'latencyMs',
  'queued',
  'generate',
  'seconds',
  'epoch',
  'writerEpoch',
  'createdAt',
])

/** A value as text, without what a clock or the number of restarts has put there. */
export function timeless(value: unknown): string {
  return JSON.stringify(value, (key, v: unknown) => {
    if (clocks.has(key)) return undefined
    return ArrayBuffer.isView(v) ? Array.from(v as unknown as ArrayLike<number>) : v
  })
}

/** Every record of every topic of a run, sorted within its topic, since work finishes in any order. */
export async function recordsOf(run: string): Promise<Record<string, string[]>> {
  await using log = await openLog({ dir: join(run, 'log'), mode: 'read', clock: { now: () => Date.now() } })
  const signal = new AbortController().signal
  const all: Record<string, string[]> = {}
  for (const { name, earliest } of await log.topics()) {
    const records: string[] = []
    await follow(log, topicNamed(name), { from: earliest, until: 'end', signal }, (r) => {
      records.push(timeless(r.value))
    })
    all[name] = records.sort()
  }
  return all
}
