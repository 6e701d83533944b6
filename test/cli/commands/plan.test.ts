import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { invoke } from '../invoke.ts'
import { scratch } from '../run-on-disk.ts'

const config = {
  model: { layers: 1, hidden: 32, heads: 2, maxLength: 96 },
  evaluation: { prompts: 4 },
  engine: { microBatchTokens: 512 },
  stages: [
    { kind: 'sft', name: 'sft', domain: 'mixed', tasks: ['math'], steps: 4, batch: 4, lr: 1e-3 },
    {
      kind: 'rl',
      name: 'math',
      domain: 'math',
      task: 'math',
      prompts: 2,
      groupSize: 2,
      maxTokens: 24,
      lr: 1e-4,
      subStages: [{ steps: 2, exit: { clipShare: 0.1 } }, { steps: 3 }],
    },
  ],
}

async function folderWith(value: unknown): Promise<string> {
  const cwd = await scratch()
  await writeFile(join(cwd, 'c.mjs'), `export default ${JSON.stringify(value)}\n`)
  return cwd
}

test('says stages, memory and a measured time, and leaves nothing behind', async () => {
  const cwd = await folderWith(config)
  const { code, out, err } = await invoke(['plan', 'c.mjs'], { cwd })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^math-1 +sft +rl +math +≤ 2 +8 /m)
  expect(out).toMatch(/^math-2 +math-1 +rl +math +3 +12 /m)
  expect(out).toMatch(/^Memory, about .* parameters$/m)
  expect(out).toMatch(/^Time, about \d+:\d\d at most/m)
  expect(await readdir(cwd)).toEqual(['c.mjs'])
})

test('as JSON: every stage with its time and rates', async () => {
  const cwd = await folderWith(config)
  const { code, out } = await invoke(['plan', 'c.mjs', '--json'], { cwd })
  expect(code).toBe(0)
  const plan = JSON.parse(out)
  expect(plan.config).toBe(join(cwd, 'c.mjs'))
  expect(plan.stages.map((s: { name: string }) => s.name)).toEqual(['sft', 'math-1', 'math-2'])
  const { seconds, stages, evaluations, rates } = plan.time
  expect(stages).toHaveLength(3)
  expect(seconds).toBeCloseTo(evaluations + stages.reduce((a: number, b: number) => a + b, 0), 9)
  for (const [i, { sampled, trained }] of rates.entries()) {
    expect(sampled > 0).toBe(i > 0)
    expect(trained).toBeGreaterThan(0)
    const { sampledTokens, trainedTokens } = plan.stages[i]
    expect(stages[i]).toBeCloseTo(
      (sampledTokens === 0 ? 0 : sampledTokens / sampled) + trainedTokens / trained,
      9,
    )
  }
})

test('without measuring there is no time', async () => {
  const cwd = await folderWith(config)
  const { out } = await invoke(['plan', 'c.mjs', '--no-measure', '--json'], { cwd })
  expect(JSON.parse(out).time).toBeNull()
})

test('a model larger than the memory is planned and not tried', async () => {
  const cwd = await folderWith({
    ...config,
    model: { layers: 64, hidden: 16_384, heads: 128, maxLength: 4096 },
  })
  const { code, out } = await invoke(['plan', 'c.mjs'], { cwd })
  expect(code).toBe(0)
  expect(out).toMatch(/Time: not measured: this machine has .* free, and a run needs about .* TiB/)
})

test('what a run would refuse is refused, by its field', async () => {
  const short = await folderWith({ ...config, model: { ...config.model, maxLength: 16 } })
  expect(await invoke(['plan', 'c.mjs'], { cwd: short })).toMatchObject({
    code: 2,
    err: expect.stringMatching(/error CONFIG_INVALID: .*c\.mjs: model\.maxLength: expected at least \d+ for/),
  })
  const [stage] = config.stages.slice(1)
  const unknown = await folderWith({ ...config, stages: [{ ...stage, verifier: 'nosuch' }] })
  expect(await invoke(['plan', 'c.mjs'], { cwd: unknown })).toMatchObject({
    code: 2,
    err: expect.stringContaining('stages[0].verifier: expected one of'),
  })
})
