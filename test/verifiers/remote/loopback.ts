import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Loopback extends AsyncDisposable {
  readonly url: string
  /** Bodies that came, in order. */
  readonly bodies: unknown[]
  readonly headers: IncomingMessage['headers'][]
}

export type Reply = (response: ServerResponse, body: unknown) => void

/** A server on this machine that answers the n-th request with the n-th reply, and the rest with the last. */
export async function loopback(...replies: Reply[]): Promise<Loopback> {
  const bodies: unknown[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    headers.push(request.headers)
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      bodies.push(JSON.parse(Buffer.concat(parts).toString()))
      replies[Math.min(bodies.length, replies.length) - 1]!(response, bodies.at(-1))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    bodies,
    headers,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export const status =
  (code: number, body: string, headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(code, headers).end(body)
  }
export const json = (body: unknown) => status(200, JSON.stringify(body))
export const hang: Reply = () => undefined
export const cut: Reply = (response) => {
  response.socket!.destroy()
}
