import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rewardModelFiles } from '../../../src/model/reward/index.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { writeFolder } from '../../../src/write-folder.ts'
import { rewardConfig } from '../../model/reward/tiny-reward.ts'
import { rollout } from '../../streams/helpers.ts'
import { tinyFolder } from '../embedding/tiny-encoder.ts'
import { json, loopback } from '../remote/loopback.ts'
import { configured } from './helpers.ts'

/** Verifiers of a config that judge with a model. */

const { signal } = new AbortController()
const block = (to: string) => `f\n<<<<<<< SEARCH\ntwo\n=======\n${to}\n>>>>>>> REPLACE\n`
const groundTruth = { context: { f: 'one\ntwo\n' }, reference: block('three alpha') }
const answered = (responseText: string) => ({ ...rollout(), promptText: 'say it', responseText, groundTruth })

test('a reward model: its reward is the score, its weights decide the hash', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'cascade-models-'))
  const folder = async (seed: number) => {
    const dir = join(parent, `${seed}`)
    await writeFolder(dir, `${dir}-tmp`, rewardModelFiles(rewardConfig, initWeights(rewardConfig, seed)))
    return dir
  }
  const entries = {
    a: { kind: 'preference', model: await folder(1) },
    b: { kind: 'preference', model: await folder(2) },
  }
  await using verifiers = await configured(['a', 'b'], entries)
  await verifiers.preflight(signal)
  const [a, b] = await Promise.all(
    ['a', 'b'].map((name) => verifiers.current(name).verify(answered('one'), signal)),
  )
  expect(a).toMatchObject({ outcome: 'score', detail: { reward: expect.any(Number) } })
  expect(a).not.toEqual(b)
  expect(verifiers.current('a').codeHash).not.toBe(verifiers.current('b').codeHash)
  const other = await verifiers.current('a').verify(answered('ü'), signal)
  expect(other).toMatchObject({ outcome: 'failed', code: 'RECORD_INVALID' })
})

test('a patch by meaning: the embedding model is asked in a process of its own', async () => {
  const entries = { meant: { kind: 'patch', embedding: tinyFolder(), semanticWeight: 0.5 } }
  await using verifiers = await configured(['meant', 'patch'], entries)
  await verifiers.preflight(signal)
  const [meant, worded] = await Promise.all(
    ['meant', 'patch'].map((name) => verifiers.current(name).verify(answered(block('beta')), signal)),
  )
  expect(meant).toMatchObject({ outcome: 'score', detail: { weight: 0.5, semantic: expect.any(Number) } })
  expect(worded).toMatchObject({ outcome: 'score', detail: { case: 'similar' } })
  expect(verifiers.current('meant').codeHash).not.toBe(verifiers.current('patch').codeHash)
})

test('a patch by a judge: its key comes from the environment and stands in no hash', async () => {
  const yes = json({ choices: [{ message: { content: '{"reason": "does it", "score": 7.75}' } }] })
  await using server = await loopback(yes)
  const judge = { url: server.url, model: 'm', apiKeyEnv: 'PATCH_KEY' }
  const entries = { judged: { kind: 'patch', judge } }
  await expect(configured(['judged'], entries)).rejects.toThrow(
    'verifiers.judged.judge.apiKeyEnv: expected the environment variable PATCH_KEY to be set, got none',
  )
  const hashes = await Promise.all(
    ['secret', 'other'].map(async (key) => {
      await using verifiers = await configured(['judged'], entries, { env: { PATCH_KEY: key } })
      const verdict = await verifiers.current('judged').verify(answered(block('beta')), signal)
      expect(verdict).toMatchObject({ outcome: 'score', score: 0.75, detail: { case: 'judged' } })
      return verifiers.current('judged').codeHash
    }),
  )
  expect(hashes[0]).toBe(hashes[1])
})
