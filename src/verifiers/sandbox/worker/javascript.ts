import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten-core'
import type { EngineInstance } from '../messages.ts'
import type { Execution, Program, ProgramError, SandboxLimits, StepResult, Value } from '../sandbox.ts'
import { callText, decodeData, javascriptLiteral } from './javascript-literal.ts'
import { type ModuleSource, moduleSources } from './javascript-modules.ts'
import { prelude } from './javascript-prelude.ts'
import type { MemoryLimit, WasmMemory } from './memory-limit.ts'
import { Output } from './output.ts'
import { loadQuickJs, Rejections } from './rejections.ts'
import { stripTypes } from './typescript.ts'

/** About as deep as Node recurses. */
const stackBytes = 512 * 1024
const keepGrownBytes = 96 * 2 ** 20

export async function openJavaScript(limits: SandboxLimits, memory: MemoryLimit): Promise<EngineInstance> {
  const { quickjs, table } = await loadQuickJs()
  return new JavaScriptEngine(quickjs, table, limits, memory)
}

type Failure =
  | { readonly kind: 'error'; readonly error: ProgramError }
  | { readonly kind: 'timeout' | 'memory' | 'output' }
  | { readonly kind: 'exit'; readonly code: number }

/** Functions of the prelude. */
interface Calls {
  readonly runTimer: QuickJSHandle
  readonly encode: QuickJSHandle
  readonly describe: QuickJSHandle
}

class JavaScriptEngine implements EngineInstance {
  readonly #context: QuickJSContext
  readonly #memory: WasmMemory
  readonly #output: Output
  readonly #calls: Calls
  readonly #rejections: Rejections
  readonly #clean: Uint8Array
  #deadline = Number.POSITIVE_INFINITY
  #program: Program | undefined
  #exit: number | undefined
  /** The interpreter was left in the middle of something. */
  #broken = false

  constructor(
    quickjs: QuickJSWASMModule,
    table: Awaited<ReturnType<typeof loadQuickJs>>['table'],
    limits: SandboxLimits,
    memory: MemoryLimit,
  ) {
    this.#output = new Output(limits.outputChars)
    const runtime = quickjs.newRuntime()
    runtime.setMaxStackSize(stackBytes)
    this.#context = runtime.newContext()
    this.#rejections = new Rejections(quickjs, table, runtime, this.#context)
    this.#calls = this.#prepare()
    runtime.setMemoryLimit(limits.memoryMb * 2 ** 20)
    runtime.setInterruptHandler(
      () => this.#exit !== undefined || this.#output.over || performance.now() > this.#deadline,
    )
    this.#memory = quickjs.getWasmMemory() as unknown as WasmMemory
    const size = this.#memory.buffer.byteLength
    memory.allow(size + limits.memoryMb * 2 ** 20)
    this.#clean = new Uint8Array(this.#memory.buffer).slice()
  }

  #prepare(): Calls {
    const context = this.#context
    const { files, entries } = moduleSources()
    const host = context.newObject()
    const give = (name: string, call: (...args: QuickJSHandle[]) => QuickJSHandle | undefined) =>
      context.setProp(
        host,
        name,
        context.newFunction(name, (...args) => call(...args) ?? context.undefined),
      )
    give('write', (text, keep) => {
      this.#output.write(context.getString(text!), context.dump(keep!) === true)
      return undefined
    })
    give('exit', (code) => {
      this.#exit ??= context.getNumber(code!)
      return undefined
    })
    give('stdin', () => context.newString(this.#program?.stdin ?? ''))
    give('allowed', (name) => (this.#allows(context.getString(name!)) ? context.true : context.false))
    give('plain', (name) => context.newString(context.getString(name!).replace(/^node:/, '')))
    give('entry', (name) => context.newString(entries[context.getString(name!)]!))
    give('compile', (text, file) =>
      context.unwrapResult(
        context.evalCode(context.getString(text!), context.getString(file!), { type: 'global' }),
      ),
    )
    const make = context.unwrapResult(context.evalCode(prelude, 'prelude.js'))
    const made = context.unwrapResult(
      context.callFunction(make, context.undefined, host, this.#sources(files)),
    )
    const call = (name: string) => context.getProp(made, name)
    return { runTimer: call('runTimer'), encode: call('encode'), describe: call('describe') }
  }

  #sources(files: Record<string, ModuleSource>): QuickJSHandle {
    return this.#context.unwrapResult(this.#context.evalCode(`(${javascriptLiteral(files)})`))
  }

  #allows(name: string): boolean {
    return this.#program === undefined || name === 'fs' || this.#program.modules.includes(name)
  }

  run(program: Program): Execution {
    this.#program = program
    this.#deadline = performance.now() + program.timeoutMs
    const steps: StepResult[] = []
    const end = (failure: Failure | undefined): Execution => {
      const stdout = this.#output.text
      if (!failure) return { end: 'completed', steps, stdout }
      if (failure.kind === 'exit') {
        if (failure.code === 0 && program.tests === undefined && program.steps.length === 0)
          return { end: 'completed', steps, stdout }
        return { end: 'exit', error: { name: 'exit', message: String(failure.code) }, steps, stdout }
      }
      if (failure.kind === 'error') return { end: 'error', error: failure.error, steps, stdout }
      return { end: failure.kind, steps, stdout }
    }
    const source = program.tests === undefined ? program.source : `${program.source}\n${program.tests}`
    const text = this.#strip(source)
    if (typeof text !== 'string') return { end: 'compile', error: text, steps, stdout: '' }
    const ran = this.#guard(() => this.#evaluate(text))
    if ('kind' in ran) {
      const whole = end(ran)
      return whole.error?.name === 'SyntaxError' ? { ...whole, end: 'compile' } : whole
    }
    for (const step of program.steps) {
      const result = this.#guard(() => this.#step(step))
      if ('kind' in result) {
        if (result.kind !== 'error') return end(result)
        steps.push({ ok: false, error: result.error })
        if (program.stopAtFailure) break
      } else steps.push(result.got)
    }
    return end(undefined)
  }

  #strip(source: string): string | ProgramError {
    if (this.#program!.language !== 'typescript') return source
    try {
      return stripTypes(source)
    } catch (error) {
      return { name: 'SyntaxError', message: (error as Error).message }
    }
  }

  #step(step: Program['steps'][number]): StepResult {
    if (step.kind === 'call') {
      return { ok: true, value: this.#valueOf(this.#evaluate(callText(step.name, step.args))) }
    }
    const text = this.#strip(step.source)
    if (typeof text !== 'string') return { ok: false, error: text }
    const value = this.#evaluate(text)
    if (this.#context.typeof(value) === 'boolean' && this.#context.dump(value) === false) {
      return { ok: false, error: { name: 'AssertionError', message: 'the value is false' } }
    }
    return { ok: true }
  }

  /** Runs a script to its end, with all that it left to do later; of a promise, its result. */
  #evaluate(text: string): QuickJSHandle {
    const context = this.#context
    const value = this.#unwrap(context.evalCode(text, 'program.js', { type: 'global', strict: false }))
    for (;;) {
      const jobs = context.runtime.executePendingJobs()
      this.#check()
      if (jobs.error) throw new Thrown(jobs.error)
      // As in Node: a promise that is rejected and not handled by now has failed the program.
      const { first } = this.#rejections
      if (first) {
        this.#rejections.clear()
        throw new Thrown(first)
      }
      const more = this.#unwrap(context.callFunction(this.#calls.runTimer, context.undefined))
      if (context.dump(more) !== true) break
    }
    const state = context.getPromiseState(value)
    if (state.type === 'rejected') throw new Thrown(state.error)
    if (state.type === 'fulfilled') return state.value
    throw new Stopped({
      kind: 'error',
      error: { name: 'Error', message: 'a promise is waited for that nothing settles' },
    })
  }

  #unwrap(result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle {
    this.#check()
    if (result.error) throw new Thrown(result.error)
    return result.value
  }

  /** What has ended the whole program, whatever the interpreter made of it. */
  #check(): void {
    if (this.#output.over) throw new Stopped({ kind: 'output' })
    if (this.#exit !== undefined) throw new Stopped({ kind: 'exit', code: this.#exit })
    if (performance.now() > this.#deadline) throw new Stopped({ kind: 'timeout' })
  }

  #guard<T>(work: () => T): { got: T } | Failure {
    try {
      return { got: work() }
    } catch (error) {
      if (error instanceof Stopped) return error.failure
      if (error instanceof Thrown) return this.#describe(error.value)
      // V8 gave up inside of the interpreter: its stack was used up, or a memory access was refused.
      this.#broken = true
      const { name, message } = error as Error
      return { kind: 'error', error: { name, message } }
    }
  }

  #describe(value: QuickJSHandle): Failure {
    const context = this.#context
    let text: string
    try {
      const result = context.callFunction(this.#calls.describe, context.undefined, value)
      text = result.error ? 'InternalError\n(its text cannot be read)' : context.getString(result.value)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      this.#broken = true
      text = `InternalError\n${error.message}`
    }
    const [name = 'Error', ...message] = text.split('\n')
    if (name === 'InternalError' && message[0] === 'out of memory') return { kind: 'memory' }
    return { kind: 'error', error: { name, message: message.join('\n').slice(0, 2000) } }
  }

  #valueOf(value: QuickJSHandle): Value {
    const context = this.#context
    const text = context.getString(
      this.#unwrap(context.callFunction(this.#calls.encode, context.undefined, value)),
    )
    if (text[0] !== '+') return { data: false, text: text.slice(1, 2000) }
    return { data: true, value: decodeData(JSON.parse(text.slice(1))) }
  }

  restore(): boolean {
    if (this.#broken || this.#memory.buffer.byteLength > this.#clean.length + keepGrownBytes) return false
    const now = new Uint8Array(this.#memory.buffer)
    now.set(this.#clean)
    now.fill(0, this.#clean.length)
    this.#output.clear()
    this.#rejections.clear()
    this.#program = undefined
    this.#exit = undefined
    this.#deadline = Number.POSITIVE_INFINITY
    return true
  }
}

/** A value that the program threw. */
class Thrown {
  readonly value: QuickJSHandle
  constructor(value: QuickJSHandle) {
    this.value = value
  }
}

class Stopped {
  readonly failure: Failure
  constructor(failure: Failure) {
    this.failure = failure
  }
}
