import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { verifiers } from '../../src/verifiers/index.ts'
import { codeHash, ruleVerifier } from '../../src/verifiers/judge.ts'
import type { Verdict } from '../../streams/ports.ts'
import type { Rollout } from '../../topics/index.ts'

const dir = mkdtempSync(join(tmpdir(), 'cascade-judge-'))
function source(name: string, text: string): string {
  const file = join(dir, name)
  writeFileSync(file, text)
  return pathToFileURL(file).href
}
const rollout = (responseText: string, groundTruth: unknown) => ({ responseText, groundTruth }) as Rollout
const one = (): Verdict => ({ outcome: 'score', score: 1 })

describe('codeHash', () => {
  const [a, b] = [source('a.ts', 'one'), source('b.ts', 'two')]
  const base = codeHash([a, b], { strict: true })

  it('is the same for the same code and options', () => {
    expect(codeHash([a, b], { strict: true })).toBe(base)
    expect(base).toMatch(/^[0-9a-f]{64}$/)
  })

  it('changes with the options', () => {
    expect(codeHash([a, b], { strict: false })).not.toBe(base)
    expect(codeHash([a, b], {})).not.toBe(base)
  })

  it('changes with one character of one file', () => {
    expect(codeHash([a, source('b2.ts', 'twO')], { strict: true })).not.toBe(base)
  })

  it('changes with the order of files and with where one ends', () => {
    expect(codeHash([b, a], { strict: true })).not.toBe(base)
    const moved = [source('c.ts', 'onet'), source('d.ts', 'wo')]
    expect(codeHash(moved, { strict: true })).not.toBe(base)
  })
})

describe('ruleVerifier', () => {
  const samples = { good: [], bad: [] }
  const spec = { name: 'rules', version: '1', sources: [source('rules.ts', 'rules')], samples }

  it('carries name, version and hash, and judges response against truth', async () => {
    const verifier = ruleVerifier({
      ...spec,
      options: { limit: 3 },
      judge: (text, truth) => ({ outcome: 'score', score: text === truth ? 1 : 0 }),
    })
    expect(verifier).toMatchObject({
      name: 'rules',
      version: '1',
      codeHash: codeHash(spec.sources, { limit: 3 }),
    })
    const { signal } = new AbortController()
    expect(await verifier.verify(rollout('a', 'a'), signal)).toEqual({ outcome: 'score', score: 1 })
    expect(await verifier.verify(rollout('a', 'b'), signal)).toEqual({ outcome: 'score', score: 0 })
  })

  it('turns a crash into an error verdict, never into a score', async () => {
    const crash = ruleVerifier({
      ...spec,
      judge: () => {
        throw new TypeError('no such thing')
      },
    })
    const expected = {
      outcome: 'failed',
      code: 'VERIFIER_FAILED',
      message: 'verifier rules: crashed: TypeError: no such thing',
      retryable: false,
    }
    expect(crash.judge('a', 'a')).toEqual(expected)
    expect(await crash.verify(rollout('a', 'a'), new AbortController().signal)).toEqual(expected)
  })

  it('does not judge once it is aborted', async () => {
    const verifier = ruleVerifier({ ...spec, judge: one })
    const abort = new AbortController()
    abort.abort(new Error('enough'))
    await expect(verifier.verify(rollout('a', 'a'), abort.signal)).rejects.toThrow('enough')
  })
})

it('gives every verifier the name that it is listed under, and hashes of their own', () => {
  const made = Object.entries(verifiers).map(([name, make]) => {
    expect(make().name).toBe(name)
    expect(make().codeHash).toBe(make().codeHash)
    return make().codeHash
  })
  expect(new Set(made).size).toBe(made.length)
})
