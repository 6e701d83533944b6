import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import variant from '@jitl/quickjs-ng-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'

/** What Node's types leave out of WebAssembly. */
interface Wasm {
  instantiate(bytes: unknown, imports: unknown): Promise<{ instance: { exports: Record<string, unknown> } }>
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports: object) => { exports: { track: unknown } }
}
interface Table {
  grow(by: number): number
  set(at: number, value: unknown): void
}
/** Parts of a context that its types keep private. */
interface Inner {
  readonly rt: { readonly value: number }
  readonly ctx: { readonly value: number }
  readonly ffi: { QTS_DupValuePointer(context: number, value: number): number }
  readonly memory: { heapValueHandle(at: number): QuickJSHandle }
}

/** More are not looked at: one is enough to fail a program. */
const most = 1000

/** From the field of the interrupt handler to that of the tracker of rejections, in words, in the pinned build. */
const trackerAfterInterrupt = 5

/** `(func (import "host" "track") (param i32 i64 i64 i32 i32))`, exported again: only a function of WebAssembly can stand in a table. */
const trampoline = [
  [0, 97, 115, 109, 1, 0, 0, 0],
  [1, 9, 1, 96, 5, 127, 126, 126, 127, 127, 0],
  [2, 14, 1, 4, 104, 111, 115, 116, 5, 116, 114, 97, 99, 107, 0, 0],
  [7, 9, 1, 5, 116, 114, 97, 99, 107, 0, 0],
].flat()

/** QuickJS, and its table of functions, which its package does not hand out. */
export async function loadQuickJs(): Promise<{ quickjs: QuickJSWASMModule; table: Table }> {
  const require = createRequire(import.meta.url)
  const wasmBinary = withTable(readFileSync(require.resolve('@jitl/quickjs-ng-wasmfile-release-sync/wasm')))
  const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly
  const { instantiate } = wasm
  let table: Table | undefined
  wasm.instantiate = async (bytes, imports) => {
    const made = await instantiate(bytes, imports)
    table = made.instance.exports.table as Table
    return made
  }
  try {
    const base = variant as unknown as QuickJSSyncVariant
    const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(base, { wasmBinary }))
    if (!table) throw new Error('the interpreter gave no table of functions')
    return { quickjs, table }
  } finally {
    wasm.instantiate = instantiate
  }
}

/** Adds the table to what a WebAssembly binary exports. */
function withTable(bytes: Uint8Array): ArrayBuffer {
  const exportSection = 7
  for (let at = 8; at < bytes.length; ) {
    const [size, body] = read(bytes, at + 1)
    if (bytes[at] === exportSection) {
      const [count, rest] = read(bytes, body)
      const entry = [5, ...Buffer.from('table'), 1, 0]
      const content = Buffer.concat([
        number(count + 1),
        bytes.subarray(rest, body + size),
        Buffer.from(entry),
      ])
      const section = [Buffer.from([exportSection]), number(content.length), content]
      return new Uint8Array(Buffer.concat([bytes.subarray(0, at), ...section, bytes.subarray(body + size)]))
        .buffer
    }
    at = body + size
  }
  throw new Error('the interpreter exports nothing')
}

/** A number in LEB128 and where it ends. */
function read(bytes: Uint8Array, start: number): [value: number, end: number] {
  let [value, shift, at] = [0, 0, start]
  for (;;) {
    const byte = bytes[at++]!
    value |= (byte & 127) << shift
    if (byte < 128) return [value, at]
    shift += 7
  }
}

function number(value: number): Buffer {
  const out: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...out, rest])
    out.push((rest & 127) | 128)
  }
}

/**
 * Promises that were rejected and that nothing handles. The interpreter tells them to a function that its package offers no way to set, so that
 * it is set in memory, where the build that is pinned has it; a check at once finds out should that be another one.
 */
export class Rejections {
  readonly #open: { promise: bigint; reason: QuickJSHandle }[] = []

  /**
   * Before the clean state is taken. The runtime's interrupt handler must not be set yet.
   * @throws where the interpreter does not tell
   */
  constructor(quickjs: QuickJSWASMModule, table: Table, runtime: QuickJSRuntime, context: QuickJSContext) {
    const inner = context as unknown as Inner
    const words = () =>
      new Uint32Array((quickjs.getWasmMemory() as unknown as { buffer: ArrayBuffer }).buffer)
    // A value of the interpreter in memory, to copy others from.
    const slot = context.newNumber(0) as unknown as { value: number }
    const track = (_: number, promise: bigint, reason: bigint, handled: number) => {
      if (handled !== 0) {
        const at = this.#open.findLastIndex((one) => one.promise === promise)
        if (at >= 0) this.#open.splice(at, 1)
      } else if (this.#open.length < most) {
        const memory = words()
        memory[slot.value >> 2] = Number(BigInt.asUintN(32, reason))
        memory[(slot.value >> 2) + 1] = Number(BigInt.asUintN(32, reason >> 32n))
        const copy = inner.ffi.QTS_DupValuePointer(inner.ctx.value, slot.value)
        this.#open.push({ promise, reason: inner.memory.heapValueHandle(copy) })
      }
    }
    const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly
    const { exports } = new wasm.Instance(new wasm.Module(new Uint8Array(trampoline)), { host: { track } })
    const place = table.grow(1)
    table.set(place, exports.track)
    const start = inner.rt.value >> 2
    const before = words().slice(start, start + 256)
    runtime.setInterruptHandler(() => false)
    const interrupt = words()
      .subarray(start, start + 256)
      .findIndex((word, i) => word !== before[i])
    words()[start + interrupt + trackerAfterInterrupt] = place
    this.#check(context)
  }

  /** The reason of the first one that is left. */
  get first(): QuickJSHandle | undefined {
    return this.#open[0]?.reason
  }

  clear(): void {
    this.#open.length = 0
  }

  #check(context: QuickJSContext): void {
    const text = 'Promise.reject("left"); (async () => { try { await Promise.reject("taken") } catch {} })()'
    context.unwrapResult(context.evalCode(text))
    context.unwrapResult(context.runtime.executePendingJobs())
    const [reason, ...more] = this.#open.map((one) => context.dump(one.reason) as unknown)
    this.clear()
    if (reason !== 'left' || more.length > 0)
      throw new Error('the interpreter does not tell rejected promises')
  }
}
