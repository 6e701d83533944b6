import { constants } from 'node:os'
import { z } from 'zod'
import type { RemoteProgram } from './remote-program.ts'
import {
  type Ask,
  fault,
  misfit,
  openRemoteSandbox,
  type Protocol,
  type RemoteEnd,
  type RemoteSandboxOptions,
} from './remote-sandbox.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Programs run on a Piston server (https://github.com/engineer-man/piston), through `GET /api/v2/runtimes` and `POST /api/v2/execute`.
 *
 * Fields as in its docs/api-v2.md: the request has `language`, `version`, `files[].{name, content}` of which the first is run, `stdin` and
 * `run_timeout` in milliseconds; the answer has `run.{stdout, stderr, code, signal}`. Newer servers (api/src/job.js) add `run.status`, of which `TO` is the time
 * limit, `OL` and `EL` the limits on output and error output, and `XX` a fault of the server; older ones kill and say no more. Piston ends an input
 * with a line end where it has none. A server as it comes allows runs of 3 seconds and 1,024 bytes of output, which is too little for most tests: raise
 * `PISTON_RUN_TIMEOUT` and `PISTON_OUTPUT_MAX_SIZE`.
 *
 * @throws `CONFIG_INVALID` for what is no address
 */
export function openPistonSandbox(options: RemoteSandboxOptions): Sandbox {
  return openRemoteSandbox(new Piston(options.url ?? ''), options)
}

const runtimes = z.array(
  z.object({
    language: z.string(),
    version: z.string(),
    aliases: z.array(z.string()).default([]),
    runtime: z.string().nullish(),
  }),
)

const answer = z.object({
  run: z.object({
    stdout: z.string(),
    stderr: z.string(),
    code: z.int().nullable(),
    signal: z.string().nullish(),
    status: z.string().nullish(),
    message: z.string().nullish(),
  }),
})

/** What a server lets through at least: `PISTON_OUTPUT_MAX_SIZE` as it comes. */
const leastOutput = 1024

type Runtime = z.infer<typeof runtimes>[number]

class Piston implements Protocol {
  readonly name = 'piston'
  readonly #root: string
  readonly #found = new Map<RemoteProgram['engine'], Runtime>()

  /** An address that has the version of the API in it stands for itself. */
  constructor(url: string) {
    this.#root = url.includes('/api/v2') ? '' : '/api/v2'
  }

  async execute(program: RemoteProgram, ask: Ask): Promise<RemoteEnd> {
    const { language, version } = await this.#runtime(program.engine, ask)
    const main = { name: program.engine === 'python' ? 'main.py' : 'main.cjs', content: program.main }
    const began = performance.now()
    const given = await ask(
      `${this.#root}/execute`,
      {
        language,
        version,
        files: [main, ...Object.entries(program.files).map(([name, content]) => ({ name, content }))],
        stdin: program.stdin,
        run_timeout: program.timeoutMs,
      },
      {},
    )
    const read = answer.safeParse(given)
    if (!read.success) throw fault(this, `expected {run: {stdout, stderr, code}}, got ${clip(given)}`)
    const { run } = read.data
    if (run.status === 'XX')
      throw fault(this, `the server's isolation failed: ${run.message ?? 'no message'}`)
    const early = performance.now() - began < program.timeoutMs
    const killed = run.status == null && run.signal === 'SIGKILL'
    const cut = Math.max(Buffer.byteLength(run.stdout), Buffer.byteLength(run.stderr))
    if (run.status === 'OL' || run.status === 'EL' || (killed && early && cut >= leastOutput)) {
      throw misfit(
        this,
        `the server ended a run for its output after ${cut} bytes: expected a greater PISTON_OUTPUT_MAX_SIZE there`,
      )
    }
    const rest = { stdout: run.stdout, stderr: run.stderr, code: run.code ?? signalCode(run.signal) }
    return run.status === 'TO' || (killed && !early) ? { ...rest, stopped: 'timeout' } : rest
  }

  /** The newest runtime that the server has. */
  async #runtime(engine: RemoteProgram['engine'], ask: Ask): Promise<Runtime> {
    const present = this.#found.get(engine)
    if (present) return present
    const given = await ask(`${this.#root}/runtimes`, undefined, { method: 'GET' })
    const read = runtimes.safeParse(given)
    if (!read.success) throw fault(this, `expected a list of runtimes, got ${clip(given)}`)
    const fitting = read.data.filter(({ language, aliases, runtime }) => {
      if (![language, ...aliases].includes(engine)) return false
      return engine === 'python'
        ? runtime == null || runtime === 'python'
        : runtime == null || runtime === 'node'
    })
    const [newest] = fitting.sort((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }))
    if (!newest) {
      const there = read.data.map(({ language, version }) => `${language} ${version}`).join(', ')
      const wanted = engine === 'python' ? 'python' : 'javascript on node'
      throw misfit(this, `expected a server that has ${wanted}, got one with ${there || 'no language'}`)
    }
    this.#found.set(engine, newest)
    return newest
  }
}

function signalCode(name: string | null | undefined): number {
  return 128 + (constants.signals[name as NodeJS.Signals] ?? constants.signals.SIGKILL)
}

function clip(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200)
}
