import { expect, test } from 'vitest'
import { VerifierVersions } from '../../streams/verifier-versions.ts'
import type { VerifierAsked, VerifierChange } from '../../topics/index.ts'

function after(...asked: VerifierAsked[]): { versions: VerifierVersions; refused: (string | undefined)[] } {
  const versions = new VerifierVersions()
  const refused = asked.map((a, i) => {
    const change = { ...versions.decided(a, `c${i}`), epoch: 1, seq: i } as VerifierChange
    versions.apply(change)
    return change.refused
  })
  return { versions, refused }
}

const stage = (version: string): VerifierAsked => ({
  action: 'stage',
  name: 'sum',
  version,
  codeHash: `hash-${version}`,
})
const act = (action: VerifierAsked['action'], more: Partial<VerifierAsked> = {}): VerifierAsked => ({
  action,
  name: 'sum',
  ...more,
})

test('a version is staged, promoted, and rolled back to the one before', () => {
  const { versions, refused } = after(stage('2'), act('promote'), stage('3'), act('promote'), act('rollback'))
  expect(refused).toEqual([undefined, undefined, undefined, undefined, undefined])
  expect(versions.of('sum').active.map((v) => v.version)).toEqual(['2'])
  expect(versions.of('sum').staged).toBeUndefined()
  expect(versions.of('other')).toEqual({ active: [], staged: undefined, rule: undefined })
})

test('a rule waits; another candidate takes the place of the first, and its rule goes', () => {
  const rule = { after: 10, maxFlips: 0.1, maxErrors: 0 }
  const ruled = after(stage('2'), act('promote', { rule }))
  expect(ruled.versions.of('sum')).toMatchObject({ active: [], staged: { version: '2' }, rule })
  const { versions } = after(stage('2'), act('promote', { rule }), stage('3'))
  expect(versions.of('sum')).toEqual({
    active: [],
    staged: { version: '3', codeHash: 'hash-3', id: 'c2' },
    rule: undefined,
  })
})

test.each<[string, VerifierAsked[], string]>([
  ['promote without a candidate', [act('promote')], 'no version is staged'],
  [
    'promote of a version that was withdrawn',
    [stage('2'), act('withdraw'), act('promote')],
    'no version is staged',
  ],
  ['withdraw without a candidate', [act('withdraw')], 'no version is staged'],
  [
    'rollback of the first version',
    [stage('2'), act('rollback')],
    'the version that the run began with is active',
  ],
  ['the active version again', [stage('2'), act('promote'), stage('2')], '2 is the active version already'],
  ['a version without code', [act('stage', { version: '2' })], 'expected a version and a code hash'],
  [
    'a rule for a candidate that another has replaced',
    [stage('2'), stage('3'), act('promote', { codeHash: 'hash-2' })],
    'expected the staged version 3 (hash-3), got hash-2',
  ],
])('%s is refused and changes nothing', (_, asked, why) => {
  const { versions, refused } = after(...asked)
  expect(refused.at(-1)).toBe(why)
  const without = after(...asked.slice(0, -1)).versions
  expect(versions.of('sum')).toEqual(without.of('sum'))
})

test('the record names the version that it is about', () => {
  const { versions } = after(stage('2'), act('promote'))
  expect(versions.decided(act('rollback'), 'x')).toMatchObject({ version: '2', codeHash: 'hash-2' })
})
