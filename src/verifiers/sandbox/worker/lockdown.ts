import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

/** The only way out that is kept, held by this module alone. */
export interface Channel {
  send(message: unknown): void
  receive(handler: (message: unknown) => void): void
  fail(error: unknown): void
}

/** Before an interpreter is loaded. */
export function prepare(): Channel {
  const host = process
  const send = host.send!.bind(host)
  // An object of the interpreter that is freed by the collector would be freed a second time in memory that was put back since.
  class NoRegistry {
    register(): void {}
    unregister(): boolean {
      return false
    }
  }
  Object.assign(globalThis, { FinalizationRegistry: NoRegistry })
  // Emscripten asks for constants in this old way, which the permission model refuses altogether.
  Object.assign(host, {
    binding(name: string) {
      if (name === 'constants') return { fs: fs.constants }
      throw new Error(`no binding ${name}`)
    },
  })
  return {
    send: (message) => void send(message),
    receive: (handler) => void host.on('message', handler),
    fail(error) {
      host.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
      host.exitCode = 70
      host.disconnect()
    },
  }
}

const refuse = () => {
  throw new Error('not in this process')
}

/**
 * After an interpreter is loaded and before the first program: should a program ever reach the host's JavaScript, there is nothing
 * to call. What carries the isolation is the interpreter, the permission model and the ban on compiling text; this is behind it.
 */
export function lockDown(): void {
  for (const object of [net.Socket.prototype, net.Server.prototype, dgram.Socket.prototype]) {
    for (const name of ['connect', 'listen', 'bind', 'send'] as const) {
      if (name in object) Object.defineProperty(object, name, { value: refuse, configurable: false })
    }
  }
  for (const object of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype]) {
    for (const [name, value] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
      if (
        typeof value.value === 'function' &&
        name !== 'constructor' &&
        /^(lookup|resolve|reverse)/.test(name)
      )
        Object.assign(object, { [name]: refuse })
    }
  }
  syncBuiltinESMExports()
  const host = process as unknown as Record<string, unknown>
  for (const name of ['binding', 'dlopen', 'kill', 'getBuiltinModule', '_linkedBinding', 'chdir', 'abort']) {
    if (name in host) Object.defineProperty(host, name, { value: refuse })
  }
  for (const name of ['process', 'fetch', 'WebSocket', 'EventSource', 'require', 'global', 'navigator']) {
    Reflect.deleteProperty(globalThis, name)
  }
}
