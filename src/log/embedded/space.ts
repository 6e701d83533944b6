import { statfsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RootDatabase } from 'lmdb'

const megabyte = 1024 * 1024
/** What a transaction may write besides its values: branch and leaf pages, free lists, both named tables. */
const overhead = megabyte / 2
/** Free space of a file system from which on a transaction is not worth a closer look. */
const ample = 64 * megabyte
/** The file grows by so much at a time while space is ample; nothing is written for it. */
const step = 16 * megabyte
const zeros = Buffer.alloc(megabyte)

/**
 * Space that is the database's before LMDB writes to it. A write of LMDB that fails for want of space formats its
 * message into a buffer that is too short (`mdb_page_flush` of lmdb 3.5, `malloc(100)`) and damages the heap, so a full
 * disk has to show here first. What lies behind the database's last page means nothing to LMDB. Not seen here: a quota that the
 * file system does not count as its size, and copy-on-write file systems that fill up within the last megabytes.
 */
export class Space {
  readonly #file: string
  readonly #root: RootDatabase<Buffer, Buffer>
  /** The file may be so long. */
  #length = 0
  /** Up to here blocks are allocated. */
  #allocated = 0

  constructor(file: string, root: RootDatabase<Buffer, Buffer>) {
    this.#file = file
    this.#root = root
  }

  /** Makes sure that a transaction with values of so many bytes fits; none may be under way. @throws ENOSPC, EDQUOT, EFBIG */
  async reserve(bytes: number): Promise<void> {
    const used = this.#used()
    const wanted = used + bytes + overhead
    const { bavail, bsize } = statfsSync(dirname(this.#file))
    if (bavail * bsize > bytes + ample) {
      if (wanted > this.#length) await this.#open((file) => this.#grow(file, wanted))
    } else if (wanted > this.#allocated) {
      await this.#open((file) => this.#allocate(file, Math.max(used, this.#allocated), wanted))
    }
  }

  /** A limit on file sizes shows when the file grows, though nothing is written. */
  async #grow(file: FileHandle, wanted: number): Promise<void> {
    const { size } = await file.stat()
    this.#length = size
    if (wanted <= size) return
    try {
      await file.truncate(wanted + step)
      this.#length = wanted + step
    } catch {
      // The whole step may not fit where this transaction does; what is wrong with that shows now.
      await file.truncate(wanted)
      this.#length = wanted
    }
  }

  async #allocate(file: FileHandle, from: number, wanted: number): Promise<void> {
    // A write cut short by a full disk counts for what it wrote; the next one fails with the reason.
    for (let at = from; at < wanted; this.#allocated = at) {
      at += (await file.write(zeros, 0, Math.min(zeros.length, wanted - at), at)).bytesWritten
    }
    this.#length = Math.max(this.#length, wanted)
  }

  async #open(use: (file: FileHandle) => Promise<void>): Promise<void> {
    const file = await open(this.#file, 'r+')
    try {
      await use(file)
    } finally {
      await file.close()
    }
  }

  #used(): number {
    const { pageSize, lastPageNumber } = this.#root.getStats() as { pageSize: number; lastPageNumber: number }
    return (lastPageNumber + 1) * pageSize
  }
}
