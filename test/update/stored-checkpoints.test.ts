import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CheckpointStore } from '../../src/update/checkpoint-store.ts'
import { storedCheckpoints } from '../../src/update/stored-checkpoints.ts'

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cascade-stored-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

function files(manifest: unknown, weights: string) {
  const named = {
    'config.json': '{}',
    'model.safetensors': weights,
    'optimizer.safetensors': 'o',
    'tokenizer.json': '{}',
    'manifest.json': JSON.stringify(manifest),
  }
  return Object.entries(named).map(([name, text]) => ({ name, bytes: Buffer.from(text) }))
}

const manifest = (version: number, reason: string) => ({
  format: 1,
  version,
  stage: 's',
  step: version,
  reason,
  gradientBatchOffset: version,
})

test('what the store wrote is found again, by version, a stage after its last interval', async () => {
  const run = await folder()
  const store = new CheckpointStore(run)
  const last = await store.write(3, 1, files(manifest(3, 'stage-end'), 'a'))
  const interval = await store.write(3, 1, files(manifest(3, 'interval'), 'a'))
  const first = await store.write(0, 1, files(manifest(0, 'initial'), 'b'))
  const found = await storedCheckpoints(run)
  expect(found.map((c) => c.id)).toEqual([first.id, interval.id, last.id])
  expect(found[2]).toMatchObject({ ...last, stage: 's', step: 3, version: 3, reason: 'stage-end' })
  expect(found[2]!.weightsHash).toBe(last.files[1]!.sha256)
})

test('a run without any has none', async () => {
  expect(await storedCheckpoints(await folder())).toEqual([])
})

test.each([
  ['model.safetensors', 'x', /expected the content that its name says, got content hash/],
  ['manifest.json', '{', /manifest\.json: expected JSON/],
  ['manifest.json', '{"format":1}', /manifest\.json: field version/],
])('a folder whose %s was changed to %s is refused by name', async (name, content, message) => {
  const run = await folder()
  const { path, id } = await new CheckpointStore(run).write(1, 1, files(manifest(1, 'initial'), 'a'))
  await writeFile(join(run, path, name), content)
  const error = await storedCheckpoints(run).catch((e: unknown) => e)
  expect(error).toMatchObject({ code: 'CHECKPOINT_INVALID' })
  expect(String(error)).toContain(id)
  expect(String(error)).toMatch(message)
})

test('a folder with a file missing is refused', async () => {
  const run = await folder()
  const { path } = await new CheckpointStore(run).write(1, 1, files(manifest(1, 'initial'), 'a'))
  await rm(join(run, path, 'tokenizer.json'))
  await expect(storedCheckpoints(run)).rejects.toThrow('expected the file tokenizer.json, got none')
})
