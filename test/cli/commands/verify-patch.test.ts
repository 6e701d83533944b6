import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tinyFolder } from '../../verifiers/embedding/tiny-encoder.ts'
import { hang, json, loopback, type Reply, status } from '../../verifiers/remote/loopback.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { start } from '../run/harness.ts'

const edit = (to: string) => `f\n<<<<<<< SEARCH\ntwo\n=======\n${to}\n>>>>>>> REPLACE\n`
const given = { context: { f: 'one\ntwo\n' }, reference: edit('three') }
const cases = [
  { id: 'right', response: edit('three'), ...given },
  { id: 'other', response: edit('four'), prompt: 'Count on', ...given },
  { id: 'broken', response: edit('x').replace('two', 'none'), ...given },
  { id: 'none', response: 'I would rather not.', ...given },
]

const cwd = mkdtempSync(join(tmpdir(), 'cascade-verify-patch-'))
writeFileSync(join(cwd, 'cases.jsonl'), cases.map((c) => `${JSON.stringify(c)}\n`).join(''))

async function verify(flags: readonly string[], env: Record<string, string> = {}) {
  const args = ['verify', 'patch', '--in', 'cases.jsonl', '--out', 'out.jsonl', '--jobs', '1', ...flags]
  const { code, err } = await invoke(args, { cwd, env })
  return { code, err, lines: code === 2 ? [] : jsonLines(readFileSync(join(cwd, 'out.jsonl'), 'utf8')) }
}

describe('an embedding model', () => {
  test('compares meanings, by a path from where the call is made', async () => {
    const model = relative(cwd, tinyFolder())
    const { code, err, lines } = await verify([
      '--embedding',
      model,
      '--semantic-weight',
      '0.5',
      '--pooling',
      'mean',
    ])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [right, other, broken, none] = lines
    expect([right!.score, broken!.score, none!.score]).toEqual([1, -1, -1])
    const { lexical, semantic, weight, files } = other!.detail as Record<string, number>
    expect(files).toEqual([{ path: 'f', ratio: lexical, cosine: semantic }])
    expect(weight).toBe(0.5)
    expect(other!.score).toBeCloseTo((lexical! + semantic!) / 2, 12)
  })

  test.each<[string, string[], number, RegExp]>([
    [
      'a folder that is not there',
      ['--embedding', 'gone'],
      1,
      /MODEL_INVALID: .*gone: expected a folder, got nothing/,
    ],
    ['one that is no model', ['--embedding', '.'], 1, /MODEL_INVALID: .*expected model\.onnx/],
    [
      'a model of other inputs',
      ['--embedding', tinyFolder({ ids: 'tokens' })],
      1,
      /VERIFIER_FAILED: pool: could not start: .*expected inputs input_ids, .* got tokens/,
    ],
    [
      'a weight that is none',
      ['--embedding', 'm', '--semantic-weight', '2'],
      2,
      /expected a number from 0 to 1, got 2/,
    ],
    ['a weight alone', ['--semantic-weight', '1'], 2, /semanticWeight: expected it with embedding/],
  ])('%s is named', async (_, flags, expected, message) => {
    const { code, err } = await invoke(
      ['verify', 'patch', '--in', 'cases.jsonl', '--out', '-', '--jobs', '1', ...flags],
      { cwd },
    )
    expect({ code, err }).toEqual({ code: expected, err: expect.stringMatching(message) })
  })

  test('is served as well', async () => {
    const model = tinyFolder()
    const running = start([
      'verify',
      'serve',
      'patch',
      '--port',
      '0',
      '--jobs',
      '1',
      '--json',
      '--embedding',
      model,
    ])
    await running.says('"url"')
    const { url } = JSON.parse(running.output())
    const body = JSON.stringify({
      prompt: [{ role: 'user', content: 'Count on' }],
      response: edit('four'),
      label: given,
    })
    const answer = await fetch(`${url}/verdict`, { method: 'POST', body })
    expect(await answer.json()).toMatchObject({ outcome: 'score', detail: { semantic: expect.any(Number) } })
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('a judge', () => {
  const says = (content: string) => json({ choices: [{ message: { content } }] })
  const asked = async (replies: readonly Reply[], more: readonly string[] = [], env = {}) => {
    await using server = await loopback(...replies)
    const { code, err, lines } = await verify(['--judge-url', server.url, '--judge-model', 'm', ...more], env)
    const other = lines.find((line) => line.id === 'other')!
    return { code, err, lines, other, bodies: server.bodies, headers: server.headers }
  }

  test('is asked about what is another change, with the task and the key', async () => {
    const yes = says('{"reason": "also counts", "score": 5.5}')
    const { code, err, lines, other, bodies, headers } = await asked([yes], ['--judge-key-env', 'KEY'], {
      KEY: 's3',
    })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(lines.map((line) => line.score)).toEqual([1, 0.5, -1, -1])
    expect(other.detail).toMatchObject({
      case: 'judged',
      lexical: expect.any(Number),
      judge: { raw: 5.5, reason: 'also counts', model: 'm' },
    })
    expect(bodies).toHaveLength(1)
    for (const part of ['Count on', 'four', 'three']) expect(JSON.stringify(bodies)).toContain(part)
    expect(headers[0]).toMatchObject({ authorization: 'Bearer s3' })
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).not.toContain('s3')
  })

  const busy = status(429, '{"error": "slow down"}', { 'retry-after': '0' })
  test.each<[string, Reply[], string[], string, RegExp, number]>([
    ['that is busy for ever', [busy], [], 'VERIFIER_FAILED', /status 429/, 4],
    ['that answers no JSON', [status(200, '{"choices": [')], [], 'VERIFIER_FAILED', /expected JSON/, 1],
    [
      'that gives no score',
      [says('Fine, I think.')],
      [],
      'VERIFIER_FAILED',
      /expected a JSON object with a score/,
      1,
    ],
    ['that is silent', [hang], ['--timeout', '100'], 'VERIFIER_TIMEOUT', /no answer in 100 ms/, 4],
  ])('%s is an error of its line, never a score', async (_, replies, more, code, detail, tries) => {
    const { code: exit, lines, other, bodies } = await asked(replies, more)
    expect(exit).toBe(1)
    expect(other).toMatchObject({
      outcome: 'error',
      score: null,
      code,
      detail: expect.stringMatching(detail),
    })
    expect(lines.map((line) => line.score)).toEqual([1, null, -1, -1])
    expect(bodies).toHaveLength(tries)
  })

  test('that is busy at first is asked again', async () => {
    const { code, other, bodies } = await asked([busy, says('{"score": 10}')])
    expect({ code, score: other.score, tries: bodies.length }).toEqual({ code: 0, score: 1, tries: 2 })
  })

  test('that is silent does not keep Ctrl-C waiting', async () => {
    await using server = await loopback(hang)
    const interrupt = new AbortController()
    const args = [
      'verify',
      'patch',
      '--in',
      'cases.jsonl',
      '--out',
      '-',
      '--judge-url',
      server.url,
      '--judge-model',
      'm',
    ]
    const ended = invoke(args, { cwd, signal: interrupt.signal })
    while (server.bodies.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    interrupt.abort(new Error('enough'))
    expect(await ended).toMatchObject({ err: expect.stringMatching(/enough/) })
    expect(server.bodies).toHaveLength(1)
  })

  test.each<[string, string[], RegExp]>([
    ['no model', ['--judge-url', 'http://a/v1'], /judgeUrl: expected it with judgeModel/],
    ['an address that is none', ['--judge-url', 'a', '--judge-model', 'm'], /patch: judgeUrl/],
    [
      'a key that is not there',
      ['--judge-url', 'http://a/v1', '--judge-model', 'm', '--judge-key-env', 'NONE'],
      /--judge-key-env: expected the name of a variable that is set, got NONE/,
    ],
  ])('%s is named', async (_, flags, message) => {
    const { code, err } = await verify(flags)
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(message) })
  })
})
