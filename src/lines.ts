import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { CascadeError } from '../topics/index.ts'

export interface Line {
  readonly text: string
  /** From 1. */
  readonly number: number
  /** Bytes of the file that are read so far. */
  readonly at: number
}

/** Bytes of one line beyond which a file is none of lines. */
const longest = 256 * 1024 * 1024

/**
 * The lines of a file that are not blank; one whose name ends in `.gz` is unpacked. Only `\n` ends a line: JSON may hold U+2028 and U+2029
 * as they are, which Node's readline takes for ends.
 *
 * @throws `USAGE` naming a file that cannot be read; `RECORD_INVALID` naming a line that is too long or not UTF-8
 */
export async function* linesOf(file: string, signal?: AbortSignal): AsyncGenerator<Line> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 })
  const input = file.endsWith('.gz') ? source.pipe(createGunzip()) : source
  source.once('error', (error) => input.destroy(error))
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  const text = (bytes: Buffer, number: number): string => {
    try {
      return utf8.decode(bytes)
    } catch (cause) {
      throw new CascadeError('RECORD_INVALID', `${file}:${number}: (line): expected UTF-8, got other bytes`, {
        cause,
      })
    }
  }
  let parts: Buffer[] = []
  let held = 0
  let number = 0
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      signal?.throwIfAborted()
      let from = 0
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        const piece = chunk.subarray(from, end)
        const bytes = parts.length === 0 ? piece : Buffer.concat([...parts, piece])
        parts = []
        held = 0
        from = end + 1
        number += 1
        const line = text(bytes, number)
        if (line.trim() !== '') yield { text: line, number, at: source.bytesRead }
      }
      const piece = chunk.subarray(from)
      held += piece.length
      if (held > longest) {
        throw new CascadeError(
          'RECORD_INVALID',
          `${file}:${number + 1}: (line): expected at most ${longest} bytes, got more`,
        )
      }
      if (piece.length > 0) parts.push(piece)
    }
    if (parts.length > 0) {
      const line = text(Buffer.concat(parts), number + 1)
      if (line.trim() !== '') yield { text: line, number: number + 1, at: source.bytesRead }
    }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause) || cause instanceof CascadeError) throw cause
    throw new CascadeError('USAGE', `${file}: expected a file that can be read, got ${cause.message}`, {
      cause,
    })
  } finally {
    source.destroy()
    input.destroy()
  }
}
