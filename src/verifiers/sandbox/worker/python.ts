import { loadPyodide } from 'pyodide'
import type { EngineInstance } from '../messages.ts'
import type { Execution, Program, ProgramError, SandboxLimits, StepResult } from '../sandbox.ts'
import type { MemoryLimit } from './memory-limit.ts'
import { Output } from './output.ts'
import { moduleOf, type PythonModule, type Ref, textOf, withText } from './python-api.ts'
import { FileSystemState } from './python-fs.ts'
import { callExpression } from './python-literal.ts'
import { forbiddenModules, pythonSetup } from './python-setup.ts'
import { dataOf } from './python-value.ts'

const fileInput = 257
const expressionInput = 258
/** A memory that a program has grown stays so large; clearing it costs time, so beyond this the process goes. */
const keepGrownBytes = 96 * 2 ** 20

type Raised = {
  readonly error: ProgramError
  readonly kind: 'error' | 'exit' | 'interrupt' | 'memory'
  readonly from: number[]
}

export async function openPython(limits: SandboxLimits, memory: MemoryLimit): Promise<EngineInstance> {
  const pyodide = await loadPyodide({
    jsglobals: Object.freeze(Object.create(null)) as object,
    env: { HOME: '/home/pyodide', PYTHONHASHSEED: '0' },
    checkAPIVersion: false,
  })
  pyodide.runPython(pythonSetup, { globals: pyodide.runPython('{}') as never })
  for (const name of ['js', 'pyodide_js']) pyodide.unregisterJsModule(name)
  return new PythonEngine(pyodide, limits, memory)
}

class PythonEngine implements EngineInstance {
  readonly #python: PythonModule
  readonly #output: Output
  readonly #main: Ref
  readonly #describe: Ref
  readonly #frames: Ref
  readonly #exitCode: Ref
  readonly #clean: Uint8Array
  readonly #stack: number
  readonly #files: FileSystemState
  #deadline = Number.POSITIVE_INFINITY
  #stdin: Uint8Array = new Uint8Array()

  constructor(pyodide: Awaited<ReturnType<typeof loadPyodide>>, limits: SandboxLimits, memory: MemoryLimit) {
    const python = moduleOf(pyodide)
    this.#python = python
    this.#output = new Output(limits.outputChars)
    this.#streams(pyodide)
    forbid(python)
    const main = withText(python, '__main__', (at) => python._PyImport_AddModule(at))
    this.#main = python._PyModule_GetDict(main)
    const helpers = withText(python, '_helpers', (at) => python._PyDict_GetItemString(this.#main, at))
    const helper = (i: number) => {
      const ref = python._PyTuple_GetItem(helpers, i)
      python._Py_IncRef(ref)
      return ref
    }
    this.#describe = helper(0)
    this.#frames = helper(1)
    this.#exitCode = helper(2)
    pyodide.runPython(
      "for _k in [k for k in globals() if not (k.startswith('__') and k.endswith('__'))]: globals().pop(_k, None)\nglobals().pop('_k', None)",
    )
    // Read by the interpreter every so many instructions: 2 is SIGINT, which raises KeyboardInterrupt.
    const signal = () => (this.#output.over || performance.now() > this.#deadline ? 2 : 0)
    python.Py_EmscriptenSignalBuffer = Object.freeze({
      get 0() {
        return signal()
      },
      set 0(_: number) {},
    })
    python.HEAPU8[python._Py_EMSCRIPTEN_SIGNAL_HANDLING] = 1
    this.#stack = python.stackSave()
    memory.allow(python.HEAPU8.length + limits.memoryMb * 2 ** 20)
    this.#clean = python.HEAPU8.slice(0, python._sbrk(0))
    this.#files = new FileSystemState(python.FS)
  }

  #streams(pyodide: Awaited<ReturnType<typeof loadPyodide>>): void {
    const decoder = new TextDecoder()
    const sink = (keep: boolean) => ({
      write: (bytes: Uint8Array) => {
        this.#output.write(decoder.decode(bytes, { stream: true }), keep)
        return bytes.length
      },
      isatty: false,
    })
    pyodide.setStdout(sink(true))
    pyodide.setStderr(sink(false))
    pyodide.setStdin({
      read: (into: Uint8Array) => {
        const part = this.#stdin.subarray(0, into.length)
        into.set(part)
        this.#stdin = this.#stdin.subarray(part.length)
        return part.length
      },
      isatty: false,
    })
  }

  run(program: Program): Execution {
    const source = program.tests === undefined ? program.source : `${program.source}\n${program.tests}`
    this.#stdin = new TextEncoder().encode(program.stdin)
    this.#deadline = performance.now() + program.timeoutMs
    const steps: StepResult[] = []
    const end = (raised: Raised | undefined, phase: 'compile' | 'error'): Execution => {
      this.#flush()
      const stdout = this.#output.text
      const over = this.#output.over
      if (over) return { end: 'output', steps, stdout }
      if (!raised) return { end: 'completed', steps, stdout }
      const { error, kind } = raised
      if (kind === 'interrupt' && performance.now() > this.#deadline) return { end: 'timeout', steps, stdout }
      if (kind === 'memory') return { end: 'memory', error, steps, stdout }
      if (kind === 'exit') return { end: 'exit', error, steps, stdout }
      return { end: phase, error, steps, stdout }
    }
    if (source.includes('\0')) {
      return {
        end: 'compile',
        error: { name: 'SyntaxError', message: 'source code string cannot contain null bytes' },
        steps,
        stdout: '',
      }
    }
    const code = this.#compile(source, fileInput)
    if (typeof code !== 'number') return end(code, 'compile')
    const ran = this.#evaluate(code)
    if (typeof ran !== 'number' && !this.#cleanExit(ran, program)) return end(ran, 'error')
    for (const step of program.steps) {
      const result = this.#step(step)
      if ('kind' in result) {
        const whole = end(result, 'error')
        if (whole.end !== 'error') return whole
        steps.push({ ok: false, error: result.error })
        if (program.stopAtFailure) break
      } else steps.push(result)
    }
    return end(undefined, 'error')
  }

  #step(step: Program['steps'][number]): StepResult | Raised {
    const call = step.kind === 'call'
    const source = step.kind === 'call' ? callExpression(step.name, step.args) : step.source
    if (source.includes('\0')) {
      return { ok: false, error: { name: 'SyntaxError', message: 'a test holds a null byte' } }
    }
    const code = this.#compile(source, call ? expressionInput : fileInput)
    if (typeof code !== 'number') return code
    const result = this.#evaluate(code)
    if (typeof result !== 'number') return result
    return call ? { ok: true, value: dataOf(this.#python, result) } : { ok: true }
  }

  /** An exit with code 0 that the tests themselves made: no line of the source is among those that it passed through. */
  #cleanExit(raised: Raised, program: Program): boolean {
    if (raised.kind !== 'exit' || raised.error.message !== '0') return false
    if (program.tests === undefined) return program.steps.length === 0
    const own = program.source.split('\n').length
    return raised.from.length > 0 && raised.from.every((line) => line > own)
  }

  #compile(source: string, start: number): Ref | Raised {
    const python = this.#python
    const code = withText(python, source, (text) =>
      withText(python, '<program>', (file) => python._Py_CompileStringExFlags(text, file, start, 0, -1)),
    )
    return code === 0 ? this.#raised() : code
  }

  #evaluate(code: Ref): Ref | Raised {
    const result = this.#python._PyEval_EvalCode(code, this.#main, this.#main)
    return result === 0 ? this.#raised() : result
  }

  #raised(): Raised {
    const python = this.#python
    const error = python._PyErr_GetRaisedException()
    if (error === 0)
      return { error: { name: 'SystemError', message: 'no exception' }, kind: 'error', from: [] }
    const is = (type: number) => python._PyErr_GivenExceptionMatches(error, python.HEAPU32[type >> 2]!) === 1
    const exit = is(python._PyExc_SystemExit)
    const kind = exit
      ? 'exit'
      : is(python._PyExc_KeyboardInterrupt)
        ? 'interrupt'
        : is(python._PyExc_MemoryError)
          ? 'memory'
          : 'error'
    if (exit) {
      const from = (this.#ask(this.#frames, error) ?? '').split(',').filter(Boolean).map(Number)
      return { error: { name: 'SystemExit', message: this.#ask(this.#exitCode, error) ?? '1' }, kind, from }
    }
    const [name = 'Exception', ...message] = (this.#ask(this.#describe, error) ?? 'Exception').split('\n')
    return { error: { name, message: message.join('\n') }, kind, from: [] }
  }

  #ask(helper: Ref, error: Ref): string | undefined {
    const python = this.#python
    const text = python._PyObject_CallOneArg(helper, error)
    if (text === 0) {
      python._PyErr_Clear()
      return undefined
    }
    return python.HEAPU32[(text >> 2) + 1] === python._PyUnicode_Type ? textOf(python, text) : undefined
  }

  /** What the program printed may still be in a buffer of Python's. */
  #flush(): void {
    const code = this.#compile(
      'import sys\nfor s in (sys.stdout, sys.__stdout__):\n  if s: s.flush()',
      fileInput,
    )
    if (typeof code === 'number') this.#evaluate(code)
  }

  restore(): boolean {
    const python = this.#python
    if (python.HEAPU8.length > this.#clean.length + keepGrownBytes) return false
    const top = python._sbrk(0)
    python.HEAPU8.set(this.#clean)
    if (top > this.#clean.length) python.HEAPU8.fill(0, this.#clean.length, top)
    python.stackRestore(this.#stack)
    this.#files.restore()
    this.#output.clear()
    this.#deadline = Number.POSITIVE_INFINITY
    return true
  }
}

/** Spoils the names in the table of built-in modules: whatever Python does to its import machinery, they are no longer there. */
function forbid(python: PythonModule): void {
  const found = new Set<string>()
  for (let at = python.HEAPU32[python._PyImport_Inittab >> 2]!; python.HEAPU32[at >> 2] !== 0; at += 8) {
    const text = python.HEAPU32[at >> 2]!
    const name = python.UTF8ToString(text)
    if (!forbiddenModules.some((forbidden) => forbidden === name)) continue
    // The text itself, since the interpreter reads a copy of this table.
    python.HEAPU8[text] = 32
    found.add(name)
  }
  const missing = forbiddenModules.filter((name) => !found.has(name))
  if (missing.length > 0)
    throw new Error(`modules to take away are not where they were: ${missing.join(', ')}`)
}
