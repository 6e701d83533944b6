import { expect, test } from 'vitest'
import { codeOf } from '../../../src/verifiers/configured/code-of.ts'

const fence = '```'
test.each<[string, string, string, string]>([
  ['the whole text where there is no block', 'x = 1\n', 'python', 'x = 1\n'],
  ['a block in its language', `Say:\n${fence}python\nx = 1\n${fence}\nDone.`, 'python', 'x = 1'],
  ['the last of several', `${fence}python\na\n${fence}\n${fence}py\nb\n${fence}`, 'python', 'b'],
  ['not one in another language', `${fence}python\na\n${fence}\n${fence}bash\nls\n${fence}`, 'python', 'a'],
  ['one without a language', `${fence}bash\nls\n${fence}\n${fence}\na\n${fence}\n`, 'python', 'a'],
  [
    'the text where all blocks are of other languages',
    `${fence}bash\nls\n${fence}`,
    'python',
    `${fence}bash\nls\n${fence}`,
  ],
  ['a block that is cut off', `${fence}python\nx = 1\ny = 2`, 'python', 'x = 1\ny = 2'],
  ['what comes after thinking', `<think>\n${fence}python\na\n${fence}\n</think>\nb = 1`, 'python', '\nb = 1'],
  ['a block of tildes that holds backticks', `~~~ts\n${fence}\n~~~`, 'typescript', fence],
  [
    'a longer fence around a shorter one',
    `${fence}${'`'}js\n${fence}\n${fence}${'`'}\n`,
    'javascript',
    fence,
  ],
  [
    'an indented block without its indent',
    `1. so:\n   ${fence}Python\n   if a:\n     b\n   ${fence}`,
    'python',
    'if a:\n  b',
  ],
  ['attributes behind the language', `${fence}python title="a.py"\na\n${fence}`, 'python', 'a'],
  ['lines of another system', `${fence}python\r\na\r\nb\r\n${fence}\r\n`, 'python', 'a\nb'],
  ['no block that is only quoted in a line', 'Use ```python x``` here', 'python', 'Use ```python x``` here'],
])('%s', (_, response, language, code) => {
  expect(codeOf(response, language)).toBe(code)
})

test('a megabyte of fences takes no time', () => {
  const began = performance.now()
  for (const text of [
    '```\n'.repeat(250_000),
    '`'.repeat(1_000_000),
    ' '.repeat(1_000_000),
    '~~~a\n'.repeat(200_000),
  ]) {
    codeOf(text, 'python')
  }
  expect(performance.now() - began).toBeLessThan(5_000)
})
