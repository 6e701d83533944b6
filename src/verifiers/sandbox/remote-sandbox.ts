import { randomUUID } from 'node:crypto'
import { CascadeError } from '../../../topics/index.ts'
import { type PostOptions, type PostResult, postJson } from '../remote/post-json.ts'
import { CompilingSandbox } from './compiling.ts'
import { type HandOut, places } from './hand-out.ts'
import { NativeReport } from './native-report.ts'
import { type RemoteProgram, remoteProgram } from './remote-program.ts'
import { defaultLimits, type Execution, type Program, type Sandbox, type SandboxLimits } from './sandbox.ts'

export interface RemoteSandboxOptions {
  readonly jobs: number
  readonly limits?: Partial<SandboxLimits>
  /** Where the server is. */
  readonly url?: string
  /** What the header `Authorization` holds. @default the environment's CASCADE_SANDBOX_TOKEN */
  readonly token?: string
  /** Before the second try, doubled for each one after it, where the server does not say. @default 500 */
  readonly backoffMs?: number
}

/** How a run on the server ended. */
export interface RemoteEnd {
  readonly stdout: string
  readonly stderr: string
  /** The exit code; 128 and its number for a signal that ended the program. */
  readonly code: number
  readonly stopped?: 'timeout'
}

/** The way from here to the server and back: tried again where that may help, a fault in the end. */
export type Ask = (path: string, body: unknown, rest: Partial<PostOptions>) => Promise<unknown>

export interface Protocol {
  readonly name: string
  /** @throws where the server gives no end: what {@link fault} and {@link misfit} make */
  execute(program: RemoteProgram, ask: Ask): Promise<RemoteEnd>
}

/** How long a server may take on top of the program: it may have a queue. */
const slackMs = 30_000
const attempts = 4

/** @throws `CONFIG_INVALID` for what is no address */
export function openRemoteSandbox(protocol: Protocol, options: RemoteSandboxOptions): Sandbox {
  const { url = '' } = options
  if (!(/^https?:/.test(url) && URL.canParse(url))) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `sandbox-url: ${protocol.name}: expected the http address of its server, got ${url || 'none'}`,
    )
  }
  const pool = { jobs: options.jobs, limits: { ...defaultLimits, ...options.limits } }
  return new CompilingSandbox(new RemoteSandbox(protocol, { ...options, url }, pool.limits), {
    ...pool,
    strict: true,
  })
}

/**
 * Programs run on a server, by the drivers that native interpreters have here; its isolation is the server's. A server that is away, busy or
 * broken, or answers what it should not, is a retryable failure; one that refuses the request is a failure that names why. Neither is a score.
 */
class RemoteSandbox implements Sandbox {
  readonly #protocol: Protocol
  readonly #options: RemoteSandboxOptions & { readonly url: string }
  readonly #limits: SandboxLimits
  readonly #turns: HandOut<number>
  readonly #closing = new AbortController()

  constructor(protocol: Protocol, options: RemoteSandboxOptions & { url: string }, limits: SandboxLimits) {
    this.#protocol = protocol
    this.#options = options
    this.#limits = limits
    this.#turns = places(options.jobs)
  }

  run(program: Program, signal: AbortSignal, began?: () => void): Promise<Execution> {
    const both = AbortSignal.any([signal, this.#closing.signal])
    return this.#turns.hold(both, () => {
      began?.()
      return this.#once(program, both)
    })
  }

  async #once(program: Program, signal: AbortSignal): Promise<Execution> {
    const mark = randomUUID()
    const sent = remoteProgram(program, mark, this.#limits)
    let end: RemoteEnd
    try {
      end = await this.#protocol.execute(sent, (path, body, rest) =>
        this.#ask(path, body, program, rest, signal),
      )
    } catch (error) {
      if (error instanceof TooLong) return { end: 'output', steps: [], stdout: '' }
      throw error
    }
    const report = new NativeReport(this.#limits.outputChars)
    report.printed(end.stdout)
    for (const line of end.stderr.split('\n')) {
      if (line.startsWith(mark)) report.take(line.slice(mark.length))
      else report.complained(`${line}\n`)
    }
    const broken = (message: string) => fault(this.#protocol, message)
    if (!report.begun) return report.execution(undefined, end.code, null, broken)
    return report.execution(report.over ? 'output' : end.stopped, end.code, null, broken)
  }

  async #ask(
    path: string,
    body: unknown,
    { timeoutMs }: Program,
    rest: Partial<PostOptions>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { url, token = process.env.CASCADE_SANDBOX_TOKEN, backoffMs } = this.#options
    const options: PostOptions = {
      headers: token === undefined ? {} : { authorization: token },
      timeoutMs: timeoutMs + slackMs,
      attempts,
      ...(backoffMs === undefined ? {} : { backoffMs }),
      // Characters of control are six in JSON, and one protocol says everything twice.
      maxBytes: this.#limits.outputChars * 12 + 2 ** 20,
      ...rest,
    }
    const result = await postJson(`${url.replace(/\/+$/, '')}${path}`, body, options, signal)
    if (result.ok) return result.body
    if (result.tooLong) throw new TooLong()
    throw this.#failed(result)
  }

  #failed(result: PostResult & { ok: false }): CascadeError {
    const refused = result.status !== undefined && !result.retryable
    const message = `sandbox: ${this.#protocol.name}: ${result.message}`
    return new CascadeError(result.code, message, { retryable: !refused })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(fault(this.#protocol, 'closed while a program waited or ran'))
    await this.#turns.idle()
  }
}

/** The answer is longer than a program's output may be. */
class TooLong extends Error {}

/** The server did not do what it should: to be tried again. */
export function fault(protocol: { readonly name: string }, message: string): CascadeError {
  return new CascadeError('VERIFIER_FAILED', `sandbox: ${protocol.name}: ${message}`, { retryable: true })
}

/** The server is set up otherwise than is needed: trying again is of no use. */
export function misfit(protocol: { readonly name: string }, message: string): CascadeError {
  return new CascadeError('CONFIG_INVALID', `sandbox: ${protocol.name}: ${message}`)
}
