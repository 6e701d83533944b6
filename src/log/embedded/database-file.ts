import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { CascadeError } from '../../../topics/errors.ts'

/**
 * Checks the structure of an LMDB file without mapping it. LMDB trusts its pages: a page number beyond the
 * end of a truncated file ends the process with SIGBUS, so the file is walked with plain reads first. Only
 * branch and leaf pages are read (and the header of each large value where `deep`), about 1 part in 500 of a
 * log of full entries.
 *
 * Format: data version 2 of lmdb 3.x, little-endian, 64-bit (`mdb.c`: MDB_page_header, MDB_meta, MDB_node).
 * @throws `LOG_CORRUPT` naming the file.
 */
export function checkDatabaseFile(path: string, deep: boolean): void {
  const fd = openSync(path, 'r')
  try {
    for (let attempt = 1; ; attempt++) {
      const before = newest(fd, path)
      const problem = walk(fd, before, deep)
      if (problem === undefined) return
      // Pages of an older snapshot may be reused under a live writer; a file that nobody writes stays as it is.
      if (newest(fd, path).txn === before.txn) throw corrupt(path, problem)
      if (attempt === 3) return
    }
  } finally {
    closeSync(fd)
  }
}

const headerBytes = 24
const nodeBytes = 8
const metaMagic = 0xbeefc0de
const dataVersion = 2
const pageFlag = { branch: 1, leaf: 2, overflow: 4, meta: 8 }
const nodeFlag = { big: 1, sub: 2 }

interface Tree {
  depth: number
  root: number
}

interface Meta {
  pageSize: number
  lastPage: number
  txn: bigint
  trees: Tree[]
}

function newest(fd: number, path: string): Meta {
  const head = Buffer.alloc(headerBytes + 256)
  const first = readMeta(fd, path, head, 0)
  const second = readMeta(fd, path, head, first.pageSize)
  return first.txn >= second.txn ? first : second
}

function readMeta(fd: number, path: string, page: Buffer, at: number): Meta {
  const size = fstatSync(fd).size
  if (readSync(fd, page, 0, page.length, at) < page.length) {
    throw corrupt(path, `expected a database, got ${size} bytes, too few for its header`)
  }
  const meta = page.subarray(headerBytes)
  if ((page.readUInt16LE(18) & pageFlag.meta) === 0 || meta.readUInt32LE(0) !== metaMagic) {
    throw corrupt(path, `expected a header page at byte ${at}, got something else`)
  }
  const version = meta.readUInt32LE(4) & 0xffff
  if (version !== dataVersion) {
    throw corrupt(path, `expected data version ${dataVersion}, got ${version}`)
  }
  const pageSize = meta.readUInt32LE(24)
  if (pageSize < 512 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0) {
    throw corrupt(path, `expected a page size from 512 to 65536, got ${pageSize}`)
  }
  return {
    pageSize,
    trees: [readTree(meta.subarray(24)), readTree(meta.subarray(72))],
    lastPage: number64(meta, 120),
    txn: meta.readBigUInt64LE(128),
  }
}

function readTree(db: Buffer): Tree {
  return { depth: db.readUInt16LE(6), root: number64(db, 40) }
}

/** What is wrong with the snapshot, or undefined. */
function walk(fd: number, meta: Meta, deep: boolean): string | undefined {
  const { pageSize } = meta
  const pages = Math.min(meta.lastPage + 1, Math.floor(fstatSync(fd).size / pageSize))
  const page = Buffer.alloc(pageSize)
  const header = Buffer.alloc(headerBytes)
  const stack = meta.trees.filter((t) => t.root !== noPage).map((t) => ({ page: t.root, depth: t.depth }))
  let visited = 0
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const at = next.page
    const outside = `page ${at} of ${meta.lastPage + 1} lies beyond the end of the file (${pages} pages)`
    if (at < 2 || at >= pages) return outside
    if (++visited > pages) return 'its pages form a circle'
    if (readSync(fd, page, 0, pageSize, at * pageSize) < pageSize) return outside
    const wanted = next.depth === 1 ? pageFlag.leaf : pageFlag.branch
    const lower = page.readUInt16LE(20)
    const upper = page.readUInt16LE(22)
    if (number64(page, 0) !== at || (page.readUInt16LE(18) & 7) !== wanted || next.depth < 1) {
      return `page ${at} is not the page that its parent points to`
    }
    if ((lower & 1) !== 0 || lower > upper || upper > pageSize - headerBytes) return `page ${at} is damaged`
    for (let i = 0; i < lower >> 1; i++) {
      const node = headerBytes + page.readUInt16LE(headerBytes + 2 * i)
      if (node < headerBytes + upper || node + nodeBytes > pageSize) return `page ${at} is damaged`
      if (wanted === pageFlag.branch) {
        stack.push({ page: page.readUIntLE(node, 6), depth: next.depth - 1 })
        continue
      }
      const data = node + nodeBytes + page.readUInt16LE(node + 6)
      const flags = page.readUInt16LE(node + 4)
      const size = flags & nodeFlag.big ? 24 : page.readUInt32LE(node)
      if (data + size > pageSize) return `page ${at} is damaged`
      if (flags & nodeFlag.sub) {
        const tree = readTree(page.subarray(data))
        if (tree.root !== noPage) stack.push({ page: tree.root, depth: tree.depth })
      } else if (flags & nodeFlag.big) {
        const value = number64(page, data)
        const length = number64(page, data + 16)
        if (value < 2 || length < 1 || value + length > pages) {
          return `pages ${value} to ${value + length - 1} of ${meta.lastPage + 1} lie beyond the end of the file (${pages} pages)`
        }
        if (!deep) continue
        readSync(fd, header, 0, headerBytes, value * pageSize)
        const whole =
          header.readUInt32LE(20) === length && (header.readUInt16LE(18) & pageFlag.overflow) !== 0
        if (number64(header, 0) !== value || !whole)
          return `page ${value} is not the value that page ${at} points to`
      }
    }
  }
  return undefined
}

/** All ones: an empty tree. Above 2^53 the conversion is not exact, which no page number of a file reaches. */
const noPage = Number(0xffffffffffffffffn)

function number64(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at))
}

function corrupt(path: string, problem: string): CascadeError {
  return new CascadeError('LOG_CORRUPT', `${path}: the log is damaged: ${problem}`, { context: { path } })
}
