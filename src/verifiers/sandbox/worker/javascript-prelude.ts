/**
 * Runs once inside QuickJS before the clean state is taken: what programs expect around the language itself. `host` is the only way
 * out: text to write, the input, the exit code, the allow-list. The value is what the engine calls later. It uses nothing that a
 * program could have replaced by then.
 */
export const prelude = `(function (host, sources) {
  'use strict'
  const { apply, ownKeys, getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor, defineProperty } = Reflect
  const { stringify } = JSON
  const { isArray } = Array
  const { is, freeze } = Object
  const objectPrototype = Object.prototype
  const toText = String
  const failure = Error
  const define = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true })

  // Timers keep a clock of their own: the next one is due at once, however late it was set for.
  let timers = null
  let nextTimer = 1
  let clock = 0
  const add = (entry) => {
    if (timers === null || timers.due > entry.due) { entry.next = timers; timers = entry; return }
    let at = timers
    while (at.next !== null && at.next.due <= entry.due) at = at.next
    entry.next = at.next
    at.next = entry
  }
  const set = (run, delay, args, every) => {
    if (typeof run !== 'function') throw new TypeError('expected a function')
    const entry = { __proto__: null, id: nextTimer++, due: clock + (+delay > 1 ? +delay : 1), run, args, every, next: null }
    add(entry)
    return entry.id
  }
  const clear = (id) => {
    if (timers === null) return
    if (timers.id === id) { timers = timers.next; return }
    for (let at = timers; at.next !== null; at = at.next) if (at.next.id === id) { at.next = at.next.next; return }
  }
  define('setTimeout', function setTimeout(run, delay, ...args) { return set(run, delay, args, false) })
  define('setInterval', function setInterval(run, delay, ...args) { return set(run, delay, args, true) })
  define('setImmediate', function setImmediate(run, ...args) { return set(run, 0, args, false) })
  define('clearTimeout', clear)
  define('clearInterval', clear)
  define('clearImmediate', clear)
  const runTimer = () => {
    if (timers === null) return false
    const entry = timers
    timers = entry.next
    clock = entry.due
    if (entry.every) { entry.due = clock + 1; add(entry) }
    apply(entry.run, undefined, entry.args)
    return true
  }

  define('global', globalThis)
  define('process', {
    argv: ['node', 'program.js'], env: {}, platform: 'linux', version: 'v24.0.0', versions: { node: '24.0.0' }, pid: 1,
    noDeprecation: true, exitCode: undefined,
    exit(code) { host.exit(code === undefined ? 0 : +code); for (;;) {} },
    cwd: () => '/', uptime: () => clock / 1000, hrtime: () => [0, 0], memoryUsage: () => ({ heapUsed: 0 }),
    nextTick: (run, ...args) => { Promise.resolve().then(() => run(...args)) },
    on() { return this }, once() { return this }, emitWarning() {},
    stdout: { write(text) { host.write(toText(text), true); return true }, isTTY: false },
    stderr: { write(text) { host.write(toText(text), false); return true }, isTTY: false },
  })
  define('queueMicrotask', (run) => { Promise.resolve().then(run) })

  const loaded = { __proto__: null }
  const load = (file) => {
    if (loaded[file]) return loaded[file].exports
    const module = (loaded[file] = { exports: {} })
    const { text, names } = sources[file]
    const need = (name) => load(names[name])
    apply(host.compile('(function (module, exports, require) {' + text + '\\n})', file), module.exports, [module, module.exports, need])
    return module.exports
  }
  const known = { __proto__: null, lodash: load(host.entry('lodash')), util: load(host.entry('util')), assert: load(host.entry('assert')) }
  known.fs = { readFileSync(file) {
    if (file === 0 || file === '/dev/stdin') return host.stdin()
    const error = new Error('ENOENT: no such file or directory, open ' + toText(file))
    error.code = 'ENOENT'
    throw error
  } }
  // A program under test must not bend what its tests compare with.
  freeze(known.lodash); freeze(known.assert); freeze(known.assert.strict); freeze(known.util)
  define('require', (name) => {
    let plain = toText(name)
    if (plain[0] === 'n' && plain[4] === ':') plain = host.plain(plain)
    if (host.allowed(plain) && known[plain] !== undefined) return known[plain]
    const error = new Error("Cannot find module '" + plain + "'")
    error.code = 'MODULE_NOT_FOUND'
    throw error
  })
  define('module', { exports: {} })
  define('exports', globalThis.module.exports)
  define('__filename', '/program.js')
  define('__dirname', '/')

  const { format, inspect } = known.util
  const line = (all) => {
    if (typeof all[0] === 'string') return apply(format, undefined, all) + '\\n'
    let text = ''
    for (let i = 0; i < all.length; i++) text += (i > 0 ? ' ' : '') + (typeof all[i] === 'string' ? all[i] : inspect(all[i]))
    return text + '\\n'
  }
  const out = (...all) => { host.write(line(all), true) }
  const err = (...all) => { host.write(line(all), false) }
  const assertion = known.assert.AssertionError
  const console = { log: out, info: out, debug: out, error: err, warn: err, trace: err, dir: out, table: out, group: out,
    groupEnd() {}, time() {}, timeEnd() {}, count() {} }
  defineProperty(console, 'assert', { enumerable: true, value: (condition, ...message) => {
    if (!condition) throw new assertion({ message: message.length > 0 ? format(...message) : 'console.assert', actual: condition, expected: true, operator: '==' })
  } })
  define('console', console)

  // What data looks like outside: numbers that JSON lacks and records are wrapped, so that nothing can pass for another thing.
  const data = (value, depth) => {
    if (depth > 200) throw data
    if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
    if (typeof value === 'number') {
      if (value - value === 0) return is(value, -0) ? 0 : value
      return { __proto__: null, number: toText(value) }
    }
    if (typeof value === 'bigint') return { __proto__: null, bigint: toText(value) }
    if (typeof value !== 'object') throw data
    if (isArray(value)) {
      const list = []
      setPrototypeOf(list, null)
      for (let i = 0; i < value.length; i++) list[i] = data(value[i], depth + 1)
      return list
    }
    const parent = getPrototypeOf(value)
    if (parent !== null && parent !== objectPrototype) throw data
    const record = { __proto__: null }
    const keys = ownKeys(value)
    for (let i = 0; i < keys.length; i++) {
      if (typeof keys[i] !== 'string') throw data
      const property = getOwnPropertyDescriptor(value, keys[i])
      if (property === undefined || !('value' in property)) throw data
      if (property.enumerable) defineProperty(record, keys[i], { value: data(property.value, depth + 1), enumerable: true })
    }
    return { __proto__: null, record }
  }
  const encode = (value) => {
    try {
      return '+' + stringify(data(value, 0))
    } catch (error) {
      if (error !== data) throw error
      return '-' + inspect(value)
    }
  }
  const describe = (error) => {
    try {
      if (typeof error === 'object' && error !== null && (error instanceof failure)) return toText(error.name) + '\\n' + toText(error.message)
      return 'thrown\\n' + (typeof error === 'string' ? error : inspect(error))
    } catch { return 'thrown\\n(its text cannot be read)' }
  }
  return { runTimer, encode, describe }
})`
