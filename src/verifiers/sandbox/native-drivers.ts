/**
 * Texts that run a program inside a native interpreter. They report a line each: first that they have begun, then each step, then the
 * end. Unlike the WebAssembly engines they share their interpreter with the program: one that sets out to rewrite its driver can forge a
 * verdict, though it gets no further than its own walls.
 *
 * @param transport Python that sets `program` and defines `report(**line)`
 */
export const pythonDriver = (transport: string) => `
import json, os, sys, traceback
${transport}
report(kind='begun')
main = sys.modules['__main__'].__dict__
source, tests = program['source'], program.get('tests')
own = len(source.split('\\n'))
def describe(error):
    try:
        return dict(name=type(error).__name__, message=str(error)[:2000])
    except BaseException:
        return dict(name='Exception', message='(its text raised)')
def data(value, depth=0):
    if depth > 200: raise TypeError('too deep')
    kind = type(value)
    if value is None or kind is bool or kind is str: return value
    if kind is int: return value if abs(value) < 2 ** 53 else {'int': str(value)}
    if kind is float: return value if value - value == 0 else {'float': str(value)}
    if kind is list or kind is tuple: return [data(v, depth + 1) for v in value]
    if kind is dict and all(type(k) is str for k in value): return {'dict': {k: data(v, depth + 1) for k, v in value.items()}}
    raise TypeError('no data')
def finish(end, **rest):
    try:
        sys.stdout.flush()
    except BaseException:
        pass
    report(kind='end', end=end, **rest)
    os._exit(0)
def compiled(text, mode):
    return compile(text, '<program>', mode, dont_inherit=True)
def run():
    whole = source if tests is None else source + '\\n' + tests
    try:
        code = compiled(whole, 'exec')
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        finish('compile', error=describe(error))
    try:
        exec(code, main)
    except SystemExit as error:
        clean = error.code is None or error.code is False or (type(error.code) is int and error.code == 0)
        lines = [tb.tb_lineno for tb in walk(error.__traceback__) if tb.tb_frame.f_code.co_filename == '<program>']
        if not (clean and (not program['steps'] if tests is None else lines and all(line > own for line in lines))):
            finish('exit', error=dict(name='SystemExit', message='0' if clean else str(error.code)[:20] if type(error.code) is int else '1'))
    except MemoryError as error:
        finish('memory', error=describe(error))
    except BaseException as error:
        finish('error', error=describe(error))
    for step in program['steps']:
        try:
            if step['kind'] == 'exec':
                exec(compiled(step['source'], 'exec'), main)
                result = dict(ok=True)
            else:
                value = eval(compiled(step['source'], 'eval'), main)
                try:
                    result = dict(ok=True, value=dict(data=True, value=data(value)))
                except TypeError:
                    result = dict(ok=True, value=dict(data=False, text=repr(value)[:2000]))
        except SystemExit:
            finish('exit', error=dict(name='SystemExit', message='in a test'))
        except MemoryError as error:
            finish('memory', error=describe(error))
        except BaseException as error:
            result = dict(ok=False, error=describe(error))
        report(kind='step', result=result)
        if not result['ok'] and program['stopAtFailure']:
            break
    finish('completed')
def walk(tb):
    while tb is not None:
        yield tb
        tb = tb.tb_next
run()
`

/** The program on descriptor 3, the report on 4. */
export const descriptorTransport = {
  python: `
with os.fdopen(3) as given:
    program = json.load(given)
del given
out = os.fdopen(os.dup(4), 'w')
os.close(4)
def report(**line):
    out.write(json.dumps(line) + '\\n')
    out.flush()
`,
  javascript: `
const program = JSON.parse(fs.readFileSync(3, 'utf8'))
const report = (line) => fs.writeSync(4, JSON.stringify(line) + '\\n')
const load = createRequire('/modules/program.js')
`,
}

/** @param transport JavaScript that defines `program`, `report(line)`, and `load(name)` for packages */
export const javascriptDriver = (transport: string) => `
;(() => {
'use strict'
const fs = require('fs')
const vm = require('vm')
const { createRequire } = require('module')
${transport}
report({ kind: 'begun' })
// Otherwise what is not read yet piles up in memory.
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true)
const known = new Set([...program.modules, 'fs'])
const util = require('util')
const describe = (error) => {
  try {
    return error instanceof Error
      ? { name: String(error.name), message: String(error.message).slice(0, 2000) }
      : { name: 'thrown', message: typeof error === 'string' ? error.slice(0, 2000) : util.inspect(error) }
  } catch { return { name: 'thrown', message: '(its text cannot be read)' } }
}
let open = true
const finish = (end, rest) => {
  if (!open) return
  open = false
  report({ kind: 'end', end, ...rest })
  process.reallyExit(0)
}
const failed = (error) => finish(error instanceof SyntaxError ? 'compile' : 'error', { error: describe(error) })
process.on('uncaughtException', failed)
process.on('unhandledRejection', failed)
process.exit = (code = 0) => {
  const whole = !program.tests && program.steps.length === 0
  if (Number(code) === 0 && program.tests === undefined && whole) finish('completed')
  else finish('exit', { error: { name: 'exit', message: String(code) } })
}
const strip = program.language === 'typescript'
  ? (text) => load('sucrase').transform(text, { transforms: ['typescript', 'imports'], disableESTransforms: true, production: true }).code
  : (text) => text
globalThis.require = (name) => {
  const plain = String(name).replace(/^node:/, '')
  if (known.has(plain)) return load(plain)
  throw Object.assign(new Error("Cannot find module '" + plain + "'"), { code: 'MODULE_NOT_FOUND' })
}
globalThis.module = { exports: {} }
globalThis.exports = globalThis.module.exports
globalThis.__filename = '/program.js'
globalThis.__dirname = '/'
const { AssertionError } = require('assert')
Object.defineProperty(console, 'assert', { value: (condition, ...message) => {
  if (!condition) throw new AssertionError({ message: util.format(...message) || 'console.assert', actual: condition, expected: true })
} })
const data = (value, depth) => {
  if (depth > 200) throw data
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : { number: String(value) }
  if (typeof value === 'bigint') return { bigint: String(value) }
  if (typeof value !== 'object') throw data
  if (Array.isArray(value)) return value.map((item) => data(item, depth + 1))
  const parent = Object.getPrototypeOf(value)
  if (parent !== null && parent !== Object.prototype) throw data
  const record = Object.create(null)
  for (const key of Object.keys(value)) record[key] = data(value[key], depth + 1)
  return { record }
}
const valueOf = (value) => {
  try { return { data: true, value: data(value, 0) } } catch (error) {
    if (error !== data) throw error
    return { data: false, text: util.inspect(value).slice(0, 2000) }
  }
}
const evaluate = (text) => vm.runInThisContext(strip(text), 'program.js')
const run = async () => {
  let last
  try {
    last = evaluate(program.tests === undefined ? program.source : program.source + '\\n' + program.tests)
  } catch (error) { return failed(error) }
  try { await last } catch (error) { return failed(error) }
  for (const step of program.steps) {
    let result
    try {
      const value = await evaluate(step.source)
      if (step.kind === 'call') result = { ok: true, value: valueOf(value) }
      else if (value === false) result = { ok: false, error: { name: 'AssertionError', message: 'the value is false' } }
      else result = { ok: true }
    } catch (error) { result = { ok: false, error: describe(error) } }
    report({ kind: 'step', result })
    if (!result.ok && program.stopAtFailure) break
  }
  if (program.steps.length > 0) finish('completed')
}
process.on('beforeExit', () => finish('completed'))
run()
})()
`
