import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fusionServer, pistonServer } from '../../verifiers/sandbox/remote-server.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { start } from '../run/harness.ts'

const edit = (to: string) => `a.txt\n<<<<<<< SEARCH\ntwo\n=======\n${to}\n>>>>>>> REPLACE\n`
const given = { context: { 'a.txt': 'one\ntwo\n' }, reference: edit('three') }

function folder(lines: readonly unknown[]): string {
  const cwd = mkdtempSync(join(tmpdir(), 'cascade-verify-'))
  writeFileSync(
    join(cwd, 'cases.jsonl'),
    lines.map((l) => `${typeof l === 'string' ? l : JSON.stringify(l)}\n`).join(''),
  )
  return cwd
}

const args = ['verify', 'patch', '--in', 'cases.jsonl', '--out', 'verdicts.jsonl']

test('one verdict a line, in the order of the cases, however many processes judge', async () => {
  const cases = Array.from({ length: 300 }, (_, i) => ({
    id: `c${i}`,
    response: edit(i % 3 ? 'three' : 'four'),
    ...given,
  }))
  const cwd = folder(cases)
  const { code, out, err } = await invoke([...args, '--jobs', '3', '--json'], { cwd })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const verdicts = jsonLines(readFileSync(join(cwd, 'verdicts.jsonl'), 'utf8'))
  expect(verdicts.map((v) => v.id)).toEqual(cases.map((c) => c.id))
  expect(verdicts[1]).toEqual({
    id: 'c1',
    outcome: 'score',
    score: 1,
    detail: expect.objectContaining({ case: 'exact' }),
    verifier: 'patch',
    version: '1',
    ms: expect.any(Number),
  })
  expect(verdicts.filter((v) => v.score === 1)).toHaveLength(200)
  const counts = JSON.parse(out)
  expect(counts).toMatchObject({ kind: 'patch', cases: 300, score: 300, unparsable: 0, error: 0, errors: {} })
  expect(counts.casesPerSecond).toBeGreaterThan(0)
})

test('a line ends at a line feed alone: JSON may hold other separators as they are', async () => {
  const cwd = folder([{ id: 'a\u2028b\u2029c\u0085', response: edit('three'), ...given }])
  const { code, out } = await invoke([...args.slice(0, 5), '-'], { cwd })
  expect({ code, ids: jsonLines(out).map((v) => v.id) }).toEqual({ code: 0, ids: ['a\u2028b\u2029c\u0085'] })
})

test('an input that is the output, or is not there, leaves the output as it was', async () => {
  const cwd = folder([{ id: 'a', response: edit('three'), ...given }])
  const text = readFileSync(join(cwd, 'cases.jsonl'), 'utf8')
  for (const [input, message] of [
    ['cases.jsonl', /^error USAGE: --out: expected another file than --in, got /],
    ['none.jsonl', /^error USAGE: .*none\.jsonl: expected a file that can be read, got ENOENT/],
    ['.', /^error USAGE: .*: expected a file that can be read, got a folder/],
  ] as const) {
    const { code, err } = await invoke(['verify', 'patch', '--in', input, '--out', 'cases.jsonl'], { cwd })
    expect(code).toBe(2)
    expect(err).toMatch(message)
    expect(readFileSync(join(cwd, 'cases.jsonl'), 'utf8')).toBe(text)
  }
})

test('what is no case is an error of its line, and no score', async () => {
  const cwd = folder([
    { id: 'a', response: 'nothing', ...given },
    { id: 'b', response: 7, ...given },
    '',
    { id: 'c', response: edit('three'), ...given, extra: 1 },
  ])
  const { code, out, err } = await invoke([...args.slice(0, 5), '-'], { cwd })
  expect(code).toBe(1)
  const [a, b, c] = jsonLines(out)
  expect(a).toMatchObject({ id: 'a', outcome: 'unparsable', score: -1 })
  expect(b).toMatchObject({
    id: 'b',
    outcome: 'error',
    score: null,
    code: 'RECORD_INVALID',
    detail: expect.stringMatching(/^patch: case: response: /),
  })
  expect(c).toMatchObject({ id: 'c', outcome: 'error', detail: expect.stringMatching(/extra/) })
  expect(err).toMatch(/^3 cases · 0 above 0, mean – · 1 unparsable · 2 errors \(2 RECORD_INVALID\) · /)
})

test.each<[string, readonly unknown[], string[], RegExp]>([
  [
    'a line that is no JSON',
    ['{'],
    args,
    /^error USAGE: .*cases\.jsonl:1: expected a JSON object, got "\{"\n$/,
  ],
  ['a case without an id', [{}], args, /cases\.jsonl:1: id: expected a string, got nothing/],
  [
    'a file that is not there',
    [],
    [...args.slice(0, 3), 'gone.jsonl', ...args.slice(4)],
    /gone\.jsonl: expected a file that can be read, got ENOENT/,
  ],
  [
    'an output that cannot be written',
    [{ id: 'a' }],
    [...args.slice(0, 5), 'no/such/folder'],
    /no\/such\/folder: expected a file that can be written: ENOENT/,
  ],
  [
    'a kind that is none',
    [],
    ['verify', 'poetry', ...args.slice(2)],
    /kind: expected one of .*patch.*, got poetry/,
  ],
  [
    'a flag of another kind',
    [],
    [...args, '--bare'],
    /--bare: patch: expected --embedding, .*--judge-key-env/,
  ],
  [
    'a server for a sandbox of this machine',
    [],
    ['verify', 'code', ...args.slice(2), '--sandbox-url', 'http://localhost:1'],
    /sandbox-url: wasm runs on this machine: expected none, got http:\/\/localhost:1/,
  ],
  [
    'a flag of another kind with a long name',
    [],
    [...args, '--sandbox-url', 'http://localhost:1'],
    /--sandbox-url: patch: expected --embedding, /,
  ],
  ['no input', [], args.slice(0, 2), /--in: expected a file, got none/],
  ['no jobs', [], [...args, '--jobs', '0'], /expected a whole number above 0, got 0/],
])('%s is named', async (_, lines, argv, message) => {
  const { code, err } = await invoke(argv, { cwd: folder(lines) })
  expect(code).toBe(2)
  expect(err).toMatch(message)
})

test('serves a kind as a reward server until it is interrupted', async () => {
  const running = start(['verify', 'serve', 'patch', '--port', '0', '--jobs', '1', '--json'])
  await running.says('"url"')
  const { url } = JSON.parse(running.output())
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return [answer.status, await answer.json()]
  }
  const request = { prompt: 'change it', response: edit('three'), label: given }
  expect(await post('/', request)).toEqual([200, 1])
  expect(await post('/', [request, { ...request, response: edit('four') }])).toEqual([
    200,
    [1, expect.any(Number)],
  ])
  expect(await post('/verdict', request)).toEqual([
    200,
    expect.objectContaining({ outcome: 'score', score: 1 }),
  ])
  expect(await post('/', { response: 'x', label: 3 })).toEqual([
    400,
    { error: expect.stringMatching(/^patch case: context/) },
  ])
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
})

const double = { language: 'python', code: 'def f(x): return 2 * x', timeoutMs: 15_000 }
const calls = [
  { call: 'f', args: [2], expected: 4 },
  { call: 'f', args: [2], expected: 5 },
]

test('judges code on a server that runs programs, and tells its faults from scores', async () => {
  await using server = await pistonServer()
  const cwd = folder(['a', 'b'].map((id, i) => ({ id, ...double, tests: calls.slice(i, i + 1) })))
  const argv = [
    'verify',
    'code',
    ...args.slice(2, 5),
    '-',
    '--sandbox',
    'piston',
    '--sandbox-url',
    server.url,
  ]
  const { code, out } = await invoke(argv, { cwd })
  expect(code).toBe(0)
  expect(jsonLines(out)).toMatchObject([
    { id: 'a', score: 1 },
    { id: 'b', score: 0, detail: { reason: 'wrong' } },
  ])
  await server[Symbol.asyncDispose]()
  const away = await invoke(argv, { cwd })
  expect(away.code).toBe(1)
  expect(jsonLines(away.out)).toMatchObject([
    { id: 'a', outcome: 'error', score: null, code: 'VERIFIER_FAILED' },
    { id: 'b', outcome: 'error', score: null },
  ])
})

test('serves code that runs on a server, with the options of its kind', async () => {
  await using server = await fusionServer()
  const own = ['--partial', '--sandbox', 'sandboxfusion', '--sandbox-url', server.url]
  const running = start(['verify', 'serve', 'code', '--port', '0', '--jobs', '1', '--json', ...own])
  await running.says('"url"')
  const { url } = JSON.parse(running.output())
  const { code: response, ...rest } = double
  const request = { prompt: 'double it', response, label: { ...rest, tests: calls } }
  const answer = await fetch(`${url}/`, { method: 'POST', body: JSON.stringify(request) })
  expect([answer.status, await answer.text()]).toEqual([200, '0.5'])
  expect(server.requests.map(({ path }) => path)).toEqual(['/run_code'])
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 0 })
})
