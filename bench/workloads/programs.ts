import type { CodeCase } from '../../src/verifiers/code/index.ts'

/** Small programs with tests that they pass: sums, sorted lists and counts of letters over seeded numbers. */
export function seededPrograms(language: 'python' | 'javascript', count = 200): CodeCase[] {
  const next = generator(7)
  return Array.from({ length: count }, (_, i) => {
    const numbers = Array.from({ length: 40 }, () => Math.floor(next() * 1000))
    const { code, tests } = written[language](numbers)
    return { id: `${language}:${i}`, language, code, tests: [{ program: tests }], timeoutMs: 10_000 }
  })
}

const written: Record<CodeCase['language'] & ('python' | 'javascript'), (numbers: number[]) => Text> = {
  python(numbers) {
    return {
      code: 'from collections import Counter\n\ndef total(xs):\n    return sum(xs)\n\ndef ordered(xs):\n    return sorted(xs)\n\ndef letters(text):\n    return dict(Counter(text))\n',
      tests: checks(numbers, (call, value) => `assert ${call} == ${JSON.stringify(value)}`),
    }
  },
  javascript(numbers) {
    return {
      code: 'const total = (xs) => xs.reduce((a, b) => a + b, 0)\nconst ordered = (xs) => [...xs].sort((a, b) => a - b)\nconst letters = (text) => { const out = {}; for (const c of text) out[c] = (out[c] ?? 0) + 1; return out }\n',
      tests: `const assert = require('assert')\n${checks(numbers, (call, value) => `assert.deepEqual(${call}, ${JSON.stringify(value)})`)}`,
    }
  },
}

interface Text {
  code: string
  tests: string
}

function checks(numbers: number[], check: (call: string, value: unknown) => string): string {
  const text = numbers.join('-')
  const counts: Record<string, number> = {}
  for (const c of text) counts[c] = (counts[c] ?? 0) + 1
  const list = JSON.stringify(numbers)
  return [
    check(
      `total(${list})`,
      numbers.reduce((a, b) => a + b, 0),
    ),
    check(
      `ordered(${list})`,
      [...numbers].sort((a, b) => a - b),
    ),
    check(`letters('${text}')`, counts),
  ].join('\n')
}

/** mulberry32 */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
