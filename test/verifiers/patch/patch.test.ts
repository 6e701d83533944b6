import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { patch, patchKind } from '../../../src/verifiers/patch/index.ts'
import { ratio } from '../../../src/verifiers/patch/similarity.ts'

const context = { 'src/a.py': 'one\ntwo\nthree\nfour\nfive\n', 'b.txt': 'x\ny', 'crlf.txt': 'p\r\nq\r\n' }
const block = (path: string, search: string, replace: string) =>
  `${path}\n\`\`\`python\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n\`\`\`\n`
const reference = block('src/a.py', 'two\n', 'TWO\n')
const diff = (lines: string[]) => lines.join('\n')
const twoDiff = diff([
  '--- a/src/a.py',
  '+++ b/src/a.py',
  '@@ -1,3 +1,3 @@',
  ' one',
  '-two',
  '+TWO',
  ' three',
])
const verifier = patch()
const judged = (response: string, to = reference, v = verifier, files: object = context) =>
  v.judge(response, { context: files, reference: to })

describe('finds and applies', () => {
  test.each([
    ['a bare diff in prose', `I change a line.\n\n${twoDiff}\n\nThat is all. - really\n`],
    [
      'a git diff in a fence',
      `\`\`\`diff\ndiff --git a/src/a.py b/src/a.py\nindex 11..22 100644\n${twoDiff}\n\`\`\`\n- done`,
    ],
    ['a hunk that names the wrong place', twoDiff.replace('-1,3 +1,3', '-40,3 +40,3')],
    ['a block with its path above the fence', reference],
    [
      'a block with its path in the fence',
      '```src/a.py\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n```',
    ],
    [
      'a block in a diff fence',
      '```diff\n### src/a.py\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n```',
    ],
    ['a decorated path', reference.replace('src/a.py', '**`src/a.py`**:')],
    [
      'what follows the thoughts',
      `<think>${block('b.txt', 'x\n', 'z\n')}</think><solution>\n${reference}</solution>`,
    ],
    [
      'two blocks that share a path',
      `${block('src/a.py', 'two\n', 'zwei\n')}${reference.replace('src/a.py\n', '\n').replace('two', 'zwei')}`,
    ],
  ])('%s', (_, response) => {
    expect(judged(response)).toEqual({
      outcome: 'score',
      score: 1,
      detail: { case: 'exact', files: [{ path: 'src/a.py', ratio: 1 }] },
    })
  })

  test.each([
    [
      'new',
      ['diff --git a/n b/n', 'new file mode 100644', '--- /dev/null', '+++ b/n', '@@ -0,0 +1 @@', '+new'],
      block('n', '', 'new\n'),
    ],
    [
      'deleted',
      [
        'diff --git a/b.txt b/b.txt',
        'deleted file mode 100644',
        '--- a/b.txt',
        '+++ /dev/null',
        '@@ -1,2 +0,0 @@',
        '-x',
        '-y',
        '\\ No newline at end of file',
      ],
      undefined,
    ],
    [
      'renamed',
      ['diff --git a/b.txt b/c.txt', 'similarity index 100%', 'rename from b.txt', 'rename to c.txt'],
      undefined,
    ],
    [
      'without a final newline',
      [
        '--- b.txt',
        '+++ b.txt',
        '@@ -1,2 +1,2 @@',
        ' x',
        '-y',
        '\\ No newline at end of file',
        '+z',
        '\\ No newline at end of file',
      ],
      block('b.txt', 'y\n', 'z\n'),
    ],
    [
      'with Windows line ends',
      ['--- crlf.txt', '+++ crlf.txt', '@@ -1,2 +1,2 @@', '-p', '+P', ' q'],
      block('crlf.txt', 'p\n', 'P\n'),
    ],
    [
      'of lines taken out',
      ['--- a/src/a.py', '+++ b/src/a.py', '@@ -1,2 +1 @@', ' one', '-two'],
      block('src/a.py', 'two\n', ''),
    ],
  ] as [string, string[], string | undefined][])('a file %s', (_, lines, same) => {
    expect(judged(same ?? diff(lines), diff(lines))).toMatchObject({ score: 1, detail: { case: 'exact' } })
    expect(judged(twoDiff, diff(lines)).outcome).toBe('score')
    expect(judged(twoDiff, diff(lines))).not.toMatchObject({ score: 1 })
  })
})

describe('scores', () => {
  test('nothing changed: 0', () => {
    expect(judged(block('src/a.py', 'two\n', 'two\n'))).toMatchObject({
      score: 0,
      detail: { case: 'unchanged' },
    })
  })

  test('another change: the likeness of the diffs', () => {
    const verdict = judged(block('src/a.py', 'two\n', 'TOW\n'))
    const hunk = (word: string) => `@@ -1,5 +1,5 @@\n one\n-two\n+${word}\n three\n four\n five\n`
    expect(verdict).toMatchObject({ score: ratio(hunk('TOW'), hunk('TWO')), detail: { case: 'similar' } })
  })

  test('a file that only one side changes counts 0', () => {
    expect(judged(reference + block('b.txt', 'x\n', 'z\n'))).toMatchObject({
      score: 0.5,
      detail: {
        files: [
          { path: 'b.txt', ratio: 0 },
          { path: 'src/a.py', ratio: 1 },
        ],
      },
    })
  })

  test('no patch at all is unparsable', () => {
    expect(judged('I would not change a thing.')).toEqual({
      outcome: 'unparsable',
      score: -1,
      detail: { case: 'no-patch' },
    })
  })

  test('files of thousands of lines without one in common', () => {
    const big = (word: string) => Array.from({ length: 4200 }, (_, i) => `${word} ${i}\n`).join('')
    const files = { f: big('old') }
    const verdict = judged(
      block('f', files.f, big('new')),
      block('f', files.f, big('other')),
      verifier,
      files,
    )
    expect(verdict).toMatchObject({ outcome: 'score', detail: { case: 'similar' } })
  })
})

test('a hunk of lines that are all alike is given up', () => {
  const same = (n: number) => ' x\n'.repeat(n)
  const hunk = `--- a/f\n+++ b/f\n@@ -1,20001 +1,20001 @@\n${same(20_000)} y\n`
  const files = { f: 'x\n'.repeat(40_000), g: 'a\n' }
  expect(judged(hunk, block('g', 'a\n', 'b\n'), verifier, files)).toMatchObject({
    score: -1,
    detail: { reason: 'no-match', message: expect.stringContaining('comparisons') },
  })
})

describe('malformed', () => {
  test.each([
    ['no-match', block('src/a.py', 'zwei\n', 'TWO\n')],
    ['no-match', block('src/a.py', 'tw\n', 'TWO\n')],
    ['no-match', twoDiff.replace(' three', ' drei')],
    ['unknown-file', block('src/c.py', 'two\n', 'TWO\n')],
    ['unknown-file', twoDiff.replaceAll('src/a.py', 'c.py')],
    ['empty-search', block('src/a.py', '', 'TWO\n')],
    ['no-path', '<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE'],
    ['no-path', 'diff --git src/a.py src/b.py\nnew file mode 100644'],
    ['unterminated', 'src/a.py\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n'],
    ['unterminated', 'src/a.py\n<<<<<<< SEARCH\ntwo\n'],
    ['bad-diff', twoDiff.replace('-1,3', '-1,5')],
    ['bad-diff', twoDiff.replace('-1,3 +1,3', '-1,2 +1,2')],
    ['bad-diff', twoDiff.replace('@@ -1,3 +1,3 @@', '@@ @@')],
    ['no-hunk', '--- a/src/a.py\n+++ b/src/a.py\n'],
    ['no-header', '```diff\n-two\n+TWO\n```'],
    ['file-exists', '--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new'],
    ['bad-path', block('../../etc/passwd', '', 'me\n')],
    ['too-many', block('src/a.py', 'two\n', 'two\n').repeat(501)],
    ['too-long', 'x'.repeat(1_000_001)],
  ])('%s', (reason, response) => {
    expect(judged(response)).toMatchObject({
      outcome: 'score',
      score: -1,
      detail: { case: 'malformed', reason },
    })
  })

  test('costs what the option says', () => {
    expect(judged('```diff\n```', reference, patch({ formatPenalty: -0.25 }))).toMatchObject({ score: -0.25 })
  })

  test('a differing line of context is let pass by `fuzz`', () => {
    const off = diff([
      '--- a/src/a.py',
      '+++ b/src/a.py',
      '@@ -1,4 +1,4 @@',
      ' ONE',
      ' two',
      '-three',
      '+3',
      ' four',
    ])
    const to = block('src/a.py', 'three\n', '3\n')
    expect(judged(off, to)).toMatchObject({ detail: { reason: 'no-match' } })
    expect(judged(off, to, patch({ fuzz: 1 }))).toMatchObject({ score: 1 })
  })
})

test('never throws, whatever the response', () => {
  const part = fc.constantFrom(
    ...'<<<<<<< SEARCH|=======|>>>>>>> REPLACE|```diff|```|--- a/src/a.py|+++ b/src/a.py|+++ /dev/null|@@ -1,3 +1,3 @@|@@ -0,0 +9 @@|@@|diff --git a/b.txt b/b.txt|rename from b.txt|rename to q|deleted file mode 1|src/a.py|two| one|-two|+TWO|\\ No newline at end of file||<think>|</think>|<solution>|Binary files a and b differ|copy to z|--- "a'.split(
      '|',
    ),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), (lines) => {
      expect(judged(lines.join('\n')).outcome).not.toBe('failed')
    }),
    { numRuns: 3000 },
  )
})

test.each([
  ['context: Invalid input', { reference }],
  ['reference: expected a unified diff', { context, reference: 'none' }],
  ['reference: expected a change', { context, reference: block('b.txt', 'x\n', 'x\n') }],
  ['reference: b.txt: the lines', { context, reference: block('b.txt', 'no\n', 'x\n') }],
])('a truth that is none is an error: %s', (message, truth) => {
  expect(verifier.judge(reference, truth)).toMatchObject({
    outcome: 'failed',
    code: 'VERIFIER_FAILED',
    message: expect.stringContaining(message),
  })
})

test('refuses by name what is not configured', async () => {
  const open = (flags: Record<string, unknown>) => patchKind.open({ jobs: 1, flags })
  await expect(open({ semantic: 'embedding' })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('got embedding'),
  })
  await expect(open({ fuzz: 9 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('judges cases', async () => {
  await using cases = await patchKind.open({ jobs: 1, flags: { bare: true } })
  const given = patchKind.schema.parse({ id: '1', response: twoDiff, context, reference })
  expect(await cases.judge(given, new AbortController().signal)).toMatchObject({ score: 1 })
  expect(patchKind.schema.safeParse({ ...given, more: 1 }).success).toBe(false)
})
