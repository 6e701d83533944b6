import type { EmscriptenFs, FsNode } from './python-api.ts'

/** Bytes that one program may keep in files: they live in this process's memory. */
const maxFileBytes = 64 * 2 ** 20

/** ENOSPC, as Emscripten numbers it. */
const noSpace = 51

/** The state of Emscripten's file system, which lives in JavaScript objects and not in the WebAssembly memory. */
export class FileSystemState {
  readonly #fs: EmscriptenFs
  readonly #nodes = new Map<FsNode, { own: Record<string, unknown>; contents: unknown }>()
  readonly #table: (FsNode | undefined | null)[]
  readonly #streams: { stream: Record<string, unknown>; own: object; shared: object }[]
  readonly #count: number
  readonly #path: string
  readonly #nextInode: number
  #written = 0

  constructor(fs: EmscriptenFs) {
    this.#fs = fs
    this.#bound()
    this.#table = [...fs.nameTable]
    for (let node of fs.nameTable) {
      for (; node; node = node.name_next) {
        const own = Object.fromEntries(Object.keys(node).map((key) => [key, node![key]]))
        this.#nodes.set(node, { own, contents: copyOf(node.contents) })
      }
    }
    this.#count = fs.streams.length
    this.#streams = fs.streams.flatMap((stream) =>
      stream ? [{ stream, own: { ...stream }, shared: { ...(stream.shared as object) } }] : [],
    )
    this.#path = fs.currentPath
    this.#nextInode = fs.nextInode
  }

  restore(): void {
    const fs = this.#fs
    fs.nameTable.length = 0
    fs.nameTable.push(...this.#table)
    for (const [node, saved] of this.#nodes) {
      for (const key of Object.keys(node)) if (!(key in saved.own)) Reflect.deleteProperty(node, key)
      Object.assign(node, saved.own)
      putBack(node, saved.contents)
    }
    fs.streams.length = this.#count
    fs.streams.fill(null)
    for (const { stream, own, shared } of this.#streams) {
      Object.assign(stream, own)
      Object.assign(stream.shared as object, shared)
      fs.streams[(own as { fd: number }).fd] = stream
    }
    fs.currentPath = this.#path
    fs.nextInode = this.#nextInode
    this.#written = 0
  }

  /** Files are arrays of the host: what is written is counted, and beyond the limit the disk is full. */
  #bound(): void {
    // The table, since nodes hold its entries and not those of the file system itself.
    const { file, dir } = this.#fs.filesystems.MEMFS.ops_table
    const full = (bytes: number) => {
      this.#written += bytes
      if (this.#written > maxFileBytes) throw new this.#fs.ErrnoError(noSpace)
    }
    const write = file.stream.write as (...all: unknown[]) => unknown
    file.stream.write = (...all: unknown[]) => {
      const [stream, , , length, position] = all as [{ node: FsNode }, unknown, unknown, number, number]
      // A write behind the end fills the gap too.
      full(Math.max(length, (position ?? 0) + length - Number(stream.node.usedBytes ?? 0)))
      return write(...all)
    }
    const setattr = file.node.setattr as (...all: unknown[]) => unknown
    file.node.setattr = (...all: unknown[]) => {
      full(Number((all[1] as { size?: number }).size ?? 0))
      return setattr(...all)
    }
    const mknod = dir.node.mknod as (...all: unknown[]) => unknown
    dir.node.mknod = (...all: unknown[]) => {
      full(1024)
      return mknod(...all)
    }
  }
}

function copyOf(contents: unknown): unknown {
  if (contents instanceof Uint8Array) return contents.slice()
  if (contents !== null && typeof contents === 'object') return { ...contents }
  return contents
}

function putBack(node: FsNode, saved: unknown): void {
  const current = node.contents
  if (saved instanceof Uint8Array) {
    const now = current as Uint8Array
    if (Buffer.compare(now, saved) !== 0) now.set(saved)
  } else if (saved !== null && typeof saved === 'object') {
    node.contents = { ...saved }
  }
}
