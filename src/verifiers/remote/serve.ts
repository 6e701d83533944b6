import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import { places } from '../sandbox/hand-out.ts'
import { rewardRequest, type Served } from './served.ts'

export interface ServeOptions {
  /** @default 127.0.0.1 */
  readonly host?: string
  /** 0: a free one. @default 0 */
  readonly port?: number
  /** Of a request. @default 16 MiB */
  readonly maxBytes?: number
  /** Requests in one array. @default 1,024 */
  readonly maxBatch?: number
  /** Requests of one array that are judged at the same time. @default 8 */
  readonly window?: number
  /** Posts that are worked on at the same time; one more is told to come again. @default 64 */
  readonly concurrency?: number
  /** Of one judgement. @default 120,000 */
  readonly timeoutMs?: number
  /** How long `close` waits for posts that are worked on before it aborts them. @default 10,000 */
  readonly graceMs?: number
}

export interface VerifierServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Takes no more requests, finishes those that are worked on, and disposes of the verifier. */
  close(): Promise<void>
}

export const verdictType = 'application/vnd.cascade.verdict+json'

/**
 * Serves a verifier over HTTP. `POST /` answers `{prompt, response, label}` with the bare score, as the reward server of slime's
 * `--rm-url`; `POST /verdict`, or `/` with {@link verdictType} in `Accept`, with the whole verdict. An array gets an array. `GET
 * /health` says what is served. An error is never a score: at `/` it is a status of 5xx (or 422 where there is no use in trying again).
 */
export async function serveVerifier(served: Served, options: ServeOptions = {}): Promise<VerifierServer> {
  const { host = '127.0.0.1', port = 0, concurrency = 64, graceMs = 10_000 } = options
  const stop = new AbortController()
  const work = new Set<Promise<void>>()
  let closing: Promise<void> | undefined
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? '/'
    if (path === '/health') {
      const health = { status: closing ? 'closing' : 'ok', verifier: served.name, version: served.version }
      return send(response, closing ? 503 : 200, { ...health, inFlight: work.size })
    }
    if (path !== '/' && path !== '/verdict') return refuse(request, response, 404, `no such path: ${path}`)
    if (request.method !== 'POST')
      return refuse(request, response, 405, `expected POST, got ${request.method}`)
    if (closing || work.size >= concurrency) {
      response.setHeader('retry-after', '1')
      return refuse(request, response, 503, closing ? 'closing' : `busy: ${concurrency} posts in work`)
    }
    const whole = path === '/verdict' || !!request.headers.accept?.includes(verdictType)
    const done = answer(served, request, response, whole, stop.signal, options)
      .then(() => flushed(response, stop.signal))
      .finally(() => work.delete(done))
    work.add(done)
  })
  server.listen(port, host)
  await once(server, 'listening').catch((cause: unknown) => {
    throw new CascadeError('CONFIG_INVALID', `serve: cannot listen on ${host}:${port}: ${cause}`, { cause })
  })
  const address = server.address() as AddressInfo
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeIdleConnections()
    const grace = setTimeout(() => stop.abort(new CascadeError('INTERRUPTED', 'the server closes')), graceMs)
    await Promise.all(work)
    clearTimeout(grace)
    server.closeAllConnections()
    await closed
    await served[Symbol.asyncDispose]()
  }
  const shut = () => {
    closing ??= close()
    return closing
  }
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    close: shut,
    [Symbol.asyncDispose]: shut,
  }
}

/** Waits until an answer is out, or its client gone. */
async function flushed(response: ServerResponse, stop: AbortSignal): Promise<void> {
  if (response.closed || stop.aborted) return
  await once(response, 'close', { signal: stop }).catch((error: unknown) => {
    if (!stop.aborted) throw error
  })
}

/** Answers one post. Never rejects. */
async function answer(
  served: Served,
  request: IncomingMessage,
  response: ServerResponse,
  whole: boolean,
  stop: AbortSignal,
  options: ServeOptions,
): Promise<void> {
  const { maxBytes = 16 * 2 ** 20, maxBatch = 1024, window = 8, timeoutMs = 120_000 } = options
  // A client that hangs up cancels its judgement.
  const gone = new AbortController()
  response.once('close', () => gone.abort(new CascadeError('INTERRUPTED', 'the client hung up')))
  try {
    const body = await read(request, maxBytes)
    if (body === undefined) {
      return refuse(request, response, 413, `expected at most ${maxBytes} bytes, got more`)
    }
    const given = parsed(body)
    const batch = Array.isArray(given) ? given : [given]
    if (batch.length > maxBatch) {
      return refuse(request, response, 413, `expected at most ${maxBatch} requests, got ${batch.length}`)
    }
    const requests = batch.map(requestOf)
    const outer = AbortSignal.any([stop, gone.signal])
    const verdicts = await allJudged(requests, window, outer, (one, signal) =>
      judged(served, one, signal, timeoutMs),
    )
    if (whole) return send(response, 200, Array.isArray(given) ? verdicts : verdicts[0])
    const failed = verdicts.find((verdict) => verdict.outcome === 'failed')
    if (failed) {
      if (failed.retryable) response.setHeader('retry-after', '1')
      return send(response, failed.retryable ? 503 : 422, failed)
    }
    const scores = verdicts.map((verdict) => (verdict as { score: number }).score)
    send(response, 200, Array.isArray(given) ? scores : scores[0])
  } catch (error) {
    if (response.destroyed) return
    const bad = isCascadeError(error, 'RECORD_INVALID')
    if (!bad) response.setHeader('retry-after', '1')
    refuse(request, response, bad ? 400 : 503, error instanceof Error ? error.message : String(error))
  }
}

/**
 * Verdicts in the order of the requests, at most `window` of them in work.
 *
 * @throws what the first that throws does; nothing is in work any more then
 */
async function allJudged<R>(
  requests: readonly R[],
  window: number,
  outer: AbortSignal,
  judge: (request: R, signal: AbortSignal) => Promise<Verdict>,
): Promise<Verdict[]> {
  const failed = new AbortController()
  const signal = AbortSignal.any([outer, failed.signal])
  const turns = places(window)
  const verdict = (request: R) =>
    judge(request, signal).catch((error: unknown) => {
      // Before its turn is the next one's.
      failed.abort(error)
      throw error
    })
  try {
    return await Promise.all(requests.map((one) => turns.hold(signal, () => verdict(one))))
  } finally {
    await turns.idle()
  }
}

async function judged(
  served: Served,
  request: ReturnType<typeof requestOf>,
  outer: AbortSignal,
  timeoutMs: number,
): Promise<Verdict> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([outer, timeout])
  const fail = (code: string, message: string, retryable: boolean): Verdict => {
    return { outcome: 'failed', code, message: `verifier ${served.name}: ${message}`, retryable }
  }
  signal.throwIfAborted()
  let abandon = () => {}
  // One that ignores its signal is left behind, and its end, good or bad, is nobody's.
  const aborted = new Promise<never>((_, reject) => {
    abandon = () => reject(signal.reason)
    signal.addEventListener('abort', abandon, { once: true })
  })
  try {
    const verdict = await Promise.race([served.judge(request, signal), aborted])
    if (verdict.outcome === 'failed' || Number.isFinite(verdict.score)) return verdict
    return fail('NUMERIC', `expected a finite score, got ${verdict.score}`, false)
  } catch (error) {
    outer.throwIfAborted()
    if (timeout.aborted) return fail('VERIFIER_TIMEOUT', `took more than ${timeoutMs} ms`, true)
    if (isCascadeError(error, 'RECORD_INVALID')) throw error
    return fail('VERIFIER_FAILED', `threw: ${error instanceof Error ? error.message : String(error)}`, true)
  } finally {
    signal.removeEventListener('abort', abandon)
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    throw new CascadeError('RECORD_INVALID', `request: expected JSON: ${(error as Error).message}`)
  }
}

function requestOf(given: unknown, index: number) {
  const result = rewardRequest.safeParse(given)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new CascadeError('RECORD_INVALID', `request ${index}: ${path.join('.') || '(value)'}: ${message}`)
}

async function read(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  // Not destroyed on return: the answer goes out on the same socket.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > maxBytes) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** What is left of the request is not read: the connection ends with the answer. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  if (!request.complete) response.setHeader('connection', 'close')
  send(response, status, { error: message })
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
