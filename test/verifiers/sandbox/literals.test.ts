import { expect, it } from 'vitest'
import { callText, decodeData } from '../../../src/verifiers/sandbox/worker/javascript-literal.ts'
import { callExpression } from '../../../src/verifiers/sandbox/worker/python-literal.ts'
import { stripTypes } from '../../../src/verifiers/sandbox/worker/typescript.ts'

it('spells values in Python', () => {
  expect(callExpression('a.b', [null, true, 1, -0.5, 1e21, ['x'], { k: "'\\\n\u{1f600}" }])).toBe(
    String.raw`a.b(None, True, 1, -0.5, 1000000000000000000000, ['x'], {'k': '\u0027\u005c\u000a\U0001f600'})`,
  )
  expect(() => callExpression('f', [Number.POSITIVE_INFINITY])).toThrow('finite')
})

it('spells values in JavaScript', () => {
  expect(callText('f', [JSON.parse('{"__proto__": [1, "a"]}'), null])).toBe(
    'f({["__proto__"]: [1, "a"]}, null)',
  )
})

it('reads what the interpreter wrapped', () => {
  const wrapped = { record: { a: [{ number: 'NaN' }, { bigint: '7' }], number: 'text' } }
  expect(decodeData(wrapped)).toEqual({ a: [Number.NaN, 7n], number: 'text' })
})

it('takes types out, with imports as they were meant', () => {
  const text = stripTypes(
    "import * as a from 'assert'\nenum E { X }\nconst x: number = E.X\na.equal(x as any, 0)",
  )
  expect(text).not.toMatch(/: number|as any|import \*/)
  expect(text).toMatch(/require\('assert'\)/)
  expect(() => stripTypes('const x: = 1')).toThrow()
})
