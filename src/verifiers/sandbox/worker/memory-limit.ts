/**
 * Refuses the growth of any WebAssembly memory of this process beyond a size. The interpreters see a failed allocation, as on a
 * machine without memory left.
 */
export class MemoryLimit {
  #maxBytes = Number.POSITIVE_INFINITY

  constructor() {
    const grow = WebAssembly.Memory.prototype.grow
    const allows = (bytes: number) => bytes <= this.#maxBytes
    WebAssembly.Memory.prototype.grow = function (this: WebAssembly.Memory, pages: number): number {
      if (!allows(this.buffer.byteLength + pages * 65_536)) throw new RangeError('memory limit')
      return grow.call(this, pages)
    }
  }

  allow(bytes: number): void {
    this.#maxBytes = bytes
  }
}
