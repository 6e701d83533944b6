/** A memory of WebAssembly, as far as it is used here; Node's types leave it out. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/**
 * Refuses the growth of any WebAssembly memory of this process beyond a size. The interpreters see a failed allocation, as on a
 * machine without memory left.
 */
export class MemoryLimit {
  #maxBytes = Number.POSITIVE_INFINITY

  constructor() {
    const { prototype } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: WasmMemory } } })
      .WebAssembly.Memory
    const { grow } = prototype
    const allows = (bytes: number) => bytes <= this.#maxBytes
    prototype.grow = function (this: WasmMemory, pages: number): number {
      if (!allows(this.buffer.byteLength + pages * 65_536)) throw new RangeError('memory limit')
      return grow.call(this, pages)
    }
  }

  allow(bytes: number): void {
    this.#maxBytes = bytes
  }
}
