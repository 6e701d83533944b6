import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linesOf } from '../src/lines.ts'
import { scratch } from './cli/run-on-disk.ts'

const { signal } = new AbortController()

async function lines(file: string): Promise<[number, string][]> {
  const all: [number, string][] = []
  for await (const { number, text } of linesOf(file, signal)) all.push([number, text])
  return all
}

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(await scratch(), name)
  await writeFile(path, content)
  return path
}

test('only a line feed ends a line; blank ones are passed over and counted', async () => {
  const path = await file('a.jsonl', '{"a":"x\u2028y\u2029z"}\r\n\n  \n{"b":1}')
  expect(await lines(path)).toEqual([
    [1, '{"a":"x\u2028y\u2029z"}\r'],
    [4, '{"b":1}'],
  ])
})

test('chunks of any size make the same lines', async () => {
  const dir = await scratch()
  let n = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 9 })), async (some) => {
      // Longer than a chunk that is read at a time.
      const wanted = some.map((text, i) => `${i}${text.replaceAll(/\s/g, '')}`.repeat(i === 1 ? 50_000 : 1))
      const path = join(dir, `${n++}.jsonl`)
      await writeFile(path, wanted.join('\n'))
      expect((await lines(path)).map(([, text]) => text)).toEqual(wanted)
    }),
    { numRuns: 25 },
  )
})

test('what ends in .gz is unpacked', async () => {
  expect(await lines(await file('a.jsonl.gz', gzipSync('1\n2\n')))).toEqual([
    [1, '1'],
    [2, '2'],
  ])
})

test.each<[string, string | Buffer, RegExp]>([
  [
    'cut.jsonl.gz',
    gzipSync('1\n'.repeat(9999)).subarray(0, 30),
    /cut\.jsonl\.gz: expected a file that can be read/,
  ],
  [
    'none.jsonl.gz',
    'no gzip',
    /none\.jsonl\.gz: expected a file that can be read, got incorrect header check/,
  ],
  ['latin.jsonl', Buffer.from('"ok"\n"\xe9"\n', 'latin1'), /latin\.jsonl:2: \(line\): expected UTF-8/],
])('%s is refused by name', async (name, content, message) => {
  await expect(lines(await file(name, content))).rejects.toThrow(message)
})

test('a file that is not there is named', async () => {
  await expect(lines(join(await scratch(), 'gone.jsonl'))).rejects.toThrow(
    /gone\.jsonl: expected a file that can be read, got ENOENT/,
  )
})
