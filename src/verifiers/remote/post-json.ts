import { setTimeout as sleep } from 'node:timers/promises'

export interface PostOptions {
  /** @default POST */
  readonly method?: 'POST' | 'GET'
  readonly headers?: Readonly<Record<string, string>>
  /** Of one try. */
  readonly timeoutMs: number
  /** Tries while the server is busy, broken or not there. */
  readonly attempts: number
  /** Before the second try, doubled for each one after it, where the server does not say. @default 500 */
  readonly backoffMs?: number
  /** A server that asks for a longer wait is an outage at once. @default 60,000 */
  readonly maxWaitMs?: number
  /** Of an answer. @default 4 MiB */
  readonly maxBytes?: number
  /** Meters each try. What `before` throws ends the call. */
  readonly meter?: {
    before(signal: AbortSignal): Promise<void>
    after(result: PostResult): void
  }
}

export type PostResult =
  | { readonly ok: true; readonly body: unknown }
  | {
      readonly ok: false
      readonly code: 'VERIFIER_FAILED' | 'VERIFIER_TIMEOUT'
      readonly message: string
      readonly retryable: boolean
      /** Of the answer, where one came. */
      readonly status?: number
      /** The answer was longer than `maxBytes`. */
      readonly tooLong?: true
    }

type Try = PostResult & { readonly waitMs?: number }

/**
 * Posts JSON and reads JSON. Broken connections, time-outs and the statuses 408, 429 and 5xx are tried again, after the wait that
 * `Retry-After` asks for; then they are a retryable failure. Any other status and an answer that is no JSON fail at once.
 * @throws the signal's reason, and what the meter throws
 */
export async function postJson(
  url: string,
  body: unknown,
  options: PostOptions,
  signal: AbortSignal,
): Promise<PostResult> {
  const { attempts, backoffMs = 500, maxWaitMs = 60_000, meter } = options
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted()
    await meter?.before(signal)
    const result = await once(url, body, options, signal)
    meter?.after(result)
    if (result.ok || !result.retryable || tries >= attempts) return result
    const wait = result.waitMs ?? Math.min(maxWaitMs, backoffMs * 2 ** (tries - 1))
    if (wait > maxWaitMs) return result
    await sleep(wait, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

async function once(
  url: string,
  body: unknown,
  { method = 'POST', headers, timeoutMs, maxBytes = 4 * 2 ** 20 }: PostOptions,
  signal: AbortSignal,
): Promise<Try> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const failure = (message: string, retryable: boolean, waitMs?: number, status?: number): Try => {
    return { ok: false, code: 'VERIFIER_FAILED', message: `${url}: ${message}`, retryable, waitMs, status }
  }
  try {
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    })
    const text = await read(response, maxBytes)
    if (text === undefined) {
      return {
        ...failure(`expected an answer of at most ${maxBytes} bytes, got more`, false),
        ok: false,
        tooLong: true,
      } as Try
    }
    if (!response.ok) {
      const { status } = response
      const again = status === 408 || status === 429 || status >= 500
      return failure(`status ${status}: ${text.slice(0, 300)}`, again, retryAfter(response.headers), status)
    }
    try {
      return { ok: true, body: JSON.parse(text) }
    } catch {
      return failure(`expected JSON, got ${JSON.stringify(text.slice(0, 100))}`, false)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (timeout.aborted) {
      return { ...failure(`no answer in ${timeoutMs} ms`, true), ok: false, code: 'VERIFIER_TIMEOUT' } as Try
    }
    const { cause } = error as Error
    return failure(`${error}${cause instanceof Error ? `: ${cause.message}` : ''}`, true)
  }
}

async function read(response: Response, maxBytes: number): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > maxBytes) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Milliseconds that a server asks to wait, in seconds or until a date. */
function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim()
  if (!value) return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
