import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Escape } from './escapes.ts'

/** The host as an attempt finds it: a folder with a secret, a port that listens, a secret in the environment. */
export class Host {
  readonly folder = mkdtempSync(join(tmpdir(), 'cascade-host-'))
  readonly #server: Server
  #connections = 0

  constructor() {
    writeFileSync(join(this.folder, 'secret.txt'), 'TOKEN')
    writeFileSync(join(this.folder, 'loaded.py'), "print('ESCAPED')\n")
    writeFileSync(join(this.folder, 'loaded.json'), '"TOKEN"')
    this.#server = createServer((socket) => {
      this.#connections++
      socket.on('error', () => {}) // an attempt may hang up as it likes
      socket.end('HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  fill(source: string): string {
    const { port } = this.#server.address() as { port: number }
    return source.replaceAll('@DIR@', this.folder).replaceAll('@PORT@', String(port))
  }

  /** Whether an attempt with this output got through; forgets it then. */
  reached(stdout: string): boolean {
    const files = readdirSync(this.folder).filter((name) => name.includes('escaped'))
    const reached = stdout.includes('ESCAPED') || files.length > 0 || this.#connections > 0
    for (const name of files) rmSync(join(this.folder, name), { recursive: true })
    this.#connections = 0
    return reached
  }

  close(): void {
    this.#server.close()
    if (existsSync(this.folder)) rmSync(this.folder, { recursive: true })
  }
}

const environment = { PATH: process.env.PATH, HOME: process.env.HOME, CASCADE_SECRET: 'TOKEN' }
const loadPlainPyodide =
  "const { loadPyodide } = await import('pyodide'); const p = await loadPyodide(); p.runPython(process.argv[1])"
const runInContext =
  "require('node:vm').runInNewContext(process.argv[1], { log: (x) => console.log(x), console: { log: console.log } })"

/** Runs a text without the layer that is to stop it; what it printed when it ended or was stopped. */
export function runControl(given: Escape, source: string): Promise<string> {
  const node = process.execPath
  if (given.control === 'pyodide')
    return output(node, ['--input-type=module', '-e', loadPlainPyodide, source])
  if (given.control === 'vm') return output(node, ['-e', runInContext, source])
  return given.language === 'python' ? output('python3', ['-c', source]) : runScript(source)
}

/** A script of its own, as `require.main` has it. */
async function runScript(source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'cascade-script-'))
  try {
    writeFileSync(join(folder, 'program.cjs'), source)
    return await output(process.execPath, ['--no-warnings', join(folder, 'program.cjs')])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Standard output of a plain process within a minute, errors and all. */
function output(file: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += `\n[stderr] ${part.slice(0, 300)}`
    })
    child.once('error', reject)
    child.once('close', () => resolve(text))
  })
}

/** Whether a plain process still works on a text after a while, or has given more than a sandbox lets through. */
export function stillTaking(language: 'python' | 'javascript', source: string, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const [file, args] =
      language === 'python' ? ['python3', ['-c', source]] : [process.execPath, ['-e', source]]
    const child = spawn(file, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    const timer = setTimeout(() => {
      resolve(true)
      child.kill('SIGKILL')
    }, ms)
    child.stdout.resume()
    child.stderr.resume()
    child.once('error', reject)
    child.once('close', () => {
      clearTimeout(timer)
      resolve(false)
    })
  })
}
