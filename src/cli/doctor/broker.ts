import { connect, type Socket } from 'node:net'
import { type Check, message } from './check.ts'

const patience = 5000
/** ApiVersions (key 18) version 0, which every broker since 0.10 answers, whatever else it speaks. */
const apiVersions = { key: 18, version: 0 }

/** Whether a Kafka broker answers at `HOST:PORT`; without one there is nothing to check. */
export async function checkBroker(address: string | undefined): Promise<Check> {
  if (!address) return { name: 'broker', status: 'ok', detail: 'not configured; runs use the embedded log' }
  const at = address.lastIndexOf(':')
  const [host, port] = [address.slice(0, at).replace(/^\[(.*)\]$/, '$1'), Number(address.slice(at + 1))]
  if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    return {
      name: 'broker',
      status: 'fail',
      detail: `expected HOST:PORT, got ${address}`,
      advice: 'such as --broker localhost:9092',
    }
  }
  const begun = performance.now()
  try {
    const apis = await askVersions(host, port)
    const ms = Math.round(performance.now() - begun)
    return {
      name: 'broker',
      status: 'ok',
      detail: `${address} answers in ${ms} ms, ${apis} APIs`,
      facts: { address, apis },
    }
  } catch (error) {
    return {
      name: 'broker',
      status: 'fail',
      detail: `${address}: ${message(error)}`,
      advice:
        'start the broker, or correct --broker or CASCADE_BROKER; a port that wants TLS does not answer here',
      facts: { address },
    }
  }
}

/** How many APIs the broker lists. */
function askVersions(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host, port, timeout: patience })
    let received = Buffer.alloc(0)
    const fail = (why: Error) => {
      socket.destroy()
      reject(why)
    }
    socket.once('connect', () => socket.write(request()))
    socket.once('timeout', () => fail(new Error(`no answer within ${patience / 1000} s`)))
    socket.once('error', fail)
    socket.once('close', () => reject(new Error('closed the connection without an answer')))
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      try {
        const apis = parse(received)
        if (apis === undefined) return
        resolve(apis)
        socket.destroy()
      } catch (error) {
        fail(error as Error)
      }
    })
  })
}

const correlation = 7

/** Length, then API key, version, correlation id, client id. */
function request(): Buffer {
  const client = Buffer.from('cascade-doctor')
  const frame = Buffer.alloc(14 + client.length)
  frame.writeInt32BE(10 + client.length, 0)
  frame.writeInt16BE(apiVersions.key, 4)
  frame.writeInt16BE(apiVersions.version, 6)
  frame.writeInt32BE(correlation, 8)
  frame.writeInt16BE(client.length, 12)
  client.copy(frame, 14)
  return frame
}

/** Length, correlation id, error code, then an array of (key, lowest, highest version); undefined while bytes are missing. */
function parse(bytes: Buffer): number | undefined {
  if (bytes.length < 4) return undefined
  const length = bytes.readInt32BE(0)
  if (length < 10 || length > 65_536) throw new Error('answers, but does not speak Kafka')
  if (bytes.length < 4 + length) return undefined
  const code = bytes.readInt16BE(8)
  const apis = bytes.readInt32BE(10)
  if (bytes.readInt32BE(4) !== correlation || apis < 0 || length < 10 + apis * 6)
    throw new Error('answers, but does not speak Kafka')
  if (code !== 0) throw new Error(`answers with error code ${code}`)
  return apis
}
