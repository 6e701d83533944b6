import { open } from 'node:fs/promises'
import type { RootDatabase } from 'lmdb'

/** What a transaction may write besides its values: branch and leaf pages, free lists, both named tables. */
const overhead = 512 * 1024
/** Grown by at a time, in bytes: rare enough to cost nothing, and small enough to be synced with a transaction. */
const step = 1024 * 1024
const zeros = Buffer.alloc(step)

/**
 * Space that is the database's before LMDB writes to it. A write of LMDB that fails for want of space formats its
 * message into a buffer that is too short (`mdb_page_flush` of lmdb 3.5, `malloc(100)`) and damages the heap, so a full
 * disk has to show here first. What lies behind the database's last page means nothing to LMDB, and overwriting
 * blocks that exist needs no new ones, copy-on-write file systems apart.
 */
export class Space {
  readonly #file: string
  readonly #root: RootDatabase<Buffer, Buffer>
  #size = 0

  constructor(file: string, root: RootDatabase<Buffer, Buffer>) {
    this.#file = file
    this.#root = root
  }

  /** Makes sure that a transaction with values of so many bytes fits. @throws ENOSPC, EDQUOT, EFBIG */
  async reserve(bytes: number): Promise<void> {
    const wanted = this.#used() + bytes + overhead
    if (wanted <= this.#size) return
    const file = await open(this.#file, 'r+')
    try {
      this.#size = (await file.stat()).size
      while (this.#size < wanted) {
        // A write cut short by a full disk counts for what it wrote; the next one fails with the reason.
        this.#size += (await file.write(zeros, 0, step, this.#size)).bytesWritten
      }
    } finally {
      await file.close()
    }
  }

  #used(): number {
    const { pageSize, lastPageNumber } = this.#root.getStats() as { pageSize: number; lastPageNumber: number }
    return (lastPageNumber + 1) * pageSize
  }
}
