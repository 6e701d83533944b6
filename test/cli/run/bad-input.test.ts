import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cascade, recordsOf, workspace, writeConfig } from './harness.ts'
import { quickRun } from './quick-run.ts'

/** What a person sees who gets something wrong: one line, the exit code, and nothing lost. */

let space: Awaited<ReturnType<typeof workspace>>
let config: string
/** A run that was killed at the end of its second stage, so that there is something to resume. */
let killed: string
let whole: Record<string, string[]>

beforeAll(async () => {
  space = await workspace()
  config = await writeConfig(space.dir, quickRun())
  killed = join(space.dir, 'killed', 'run')
  const args = ['run', config, '--deterministic', '--dir']
  const whole_ = join(space.dir, 'whole', 'run')
  await Promise.all([mkdir(join(space.dir, 'killed')), mkdir(join(space.dir, 'whole'))])
  const [undisturbed, crashed] = await Promise.all([
    cascade([...args, whole_]),
    cascade([...args, killed], { CASCADE_CRASH_AT: 'drain@2' }),
  ])
  expect([undisturbed.code, crashed.signal]).toEqual([0, 'SIGKILL'])
  whole = await recordsOf(whole_)
})

afterAll(() => space[Symbol.asyncDispose]())

/** Runs the program and expects it to refuse with one line that matches. */
async function refused(args: readonly string[], exit: number, code: string, message: RegExp): Promise<void> {
  const ended = await cascade(args)
  expect(ended.stderr).toMatch(new RegExp(`^error ${code}: [^\\n]+\\n$`))
  expect(ended.stderr).toMatch(message)
  expect(ended.code).toBe(exit)
}

async function copyOfKilled(name: string): Promise<string> {
  // The run's name goes into its group ids, so that every copy is called the same.
  const dir = join(space.dir, name, 'run')
  await cp(killed, dir, { recursive: true })
  return dir
}

async function resumes(dir: string): Promise<void> {
  expect(await cascade(['run', '--resume', '--dir', dir])).toMatchObject({ code: 0, stderr: '' })
  expect(await recordsOf(dir)).toEqual(whole)
}

describe('a config', () => {
  const fixture = join(import.meta.dirname, '../../model/train/fixtures/untied')
  const sft = { kind: 'sft', name: 'a', domain: 'math', tasks: ['math'], steps: 1, batch: 1, lr: 1 }
  const cases: [string, string, RegExp][] = [
    [
      'with a field of a wrong type and an unknown one',
      `export default ${JSON.stringify({ stages: [{ ...sft, steps: 'many' }], modle: {} })}`,
      /stages\[0\]\.steps: .*expected number.*got "many"; .*modle/,
    ],
    ['with no default export', 'export const config = {}', /expected a default export .* got none/],
    ['that throws', 'throw new Error("first\\nsecond")', /cannot load the config: Error: first second/],
    ['that is no JavaScript', 'export default {', /cannot load the config: SyntaxError/],
    [
      'with an unknown task',
      `export default ${JSON.stringify({ stages: [{ ...sft, tasks: ['cooking'] }] })}`,
      /unknown-task\.mjs: .*tasks: expected one of .*math.*, got cooking/,
    ],
    [
      'with a model that is too short',
      `export default ${JSON.stringify({ model: { maxLength: 16 }, stages: [sft] })}`,
      /model\.maxLength: expected at least \d+ for .*, got 16/,
    ],
    [
      'with more held-out prompts than there are',
      `export default ${JSON.stringify({ evaluation: { prompts: 2000 }, stages: [{ ...sft, domain: 'instruction', tasks: ['instruction'] }] })}`,
      /evaluation\.prompts: expected at most .*, got 2000/,
    ],
    [
      'with a beta of 1',
      `export default ${JSON.stringify({ stages: [{ ...sft, betas: [1, 0.95] }] })}`,
      /betas.*expected number to be <1/,
    ],
    [
      'with first weights that are not there',
      `export default ${JSON.stringify({ model: { init: './nothing' }, stages: [sft] })}`,
      /weights-that-are-not-there\.mjs: model\.init: .*nothing: expected a folder with a checkpoint/,
    ],
    [
      'with first weights of another model',
      `export default ${JSON.stringify({ model: { init: fixture }, stages: [sft] })}`,
      /another-model\.mjs: model\.init: .*untied: .*expected/,
    ],
    ['that imports what is not there', "import './nowhere.mjs'", /cannot load the config: .*nowhere\.mjs/],
    [
      'with a width that its heads do not divide',
      `export default ${JSON.stringify({ model: { hidden: 42 }, stages: [sft] })}`,
      /model\.hidden: expected a multiple of .*, got 42/,
    ],
  ]

  test.each(cases)('%s', async (what, text, message) => {
    const file = join(space.dir, `${what.replaceAll(' ', '-')}.mjs`)
    const dir = join(space.dir, 'never')
    await writeFile(file, text)
    await refused(['run', file, '--dir', dir], 2, 'CONFIG_INVALID', message)
    expect(existsSync(dir)).toBe(false)
  })

  test('that is not there', () =>
    refused(['run', join(space.dir, 'none.mjs')], 2, 'CONFIG_INVALID', /none\.mjs: .*no such file/))
})

describe('a run folder', () => {
  test('with a run in it is left as it is', async () => {
    const before = await readFile(join(killed, 'run.json'))
    await refused(['run', config, '--dir', killed], 2, 'RUN_EXISTS', /killed.*--resume.*--dir/)
    expect(await readFile(join(killed, 'run.json'))).toEqual(before)
  })

  test('that cannot be made', async () => {
    const args = ['run', config, '--dir', join(config, 'run')]
    await refused(args, 1, 'RUN_DIR_UNUSABLE', /config\.mjs\/run: expected a folder that can be written, got/)
  })

  test.runIf(process.platform === 'linux')('on a file system that takes no files', async () => {
    const args = ['run', config, '--dir', '/proc/cascade/run']
    await refused(args, 1, 'RUN_DIR_UNUSABLE', /\/proc\/cascade\/run: expected a folder/)
  })

  test('without a run to resume', () =>
    refused(
      ['run', '--resume', '--dir', space.dir],
      2,
      'RUN_NOT_FOUND',
      /expected a run folder with run\.json/,
    ))

  test('whose run began with another seed, config or mode', async () => {
    const resume = ['run', '--resume', '--dir', killed]
    await refused([...resume, '--seed', '4'], 2, 'USAGE', /--seed: expected 0, .*, got 4/)
    await mkdir(join(space.dir, 'other'))
    const other = await writeConfig(join(space.dir, 'other'), quickRun({ prompts: 5 }))
    await refused(
      ['run', other, '--resume', '--dir', killed],
      2,
      'USAGE',
      /config: expected one of hash .*got/,
    )
  })

  test('with a damaged manifest', async () => {
    const dir = await copyOfKilled('manifest')
    const file = join(dir, 'run.json')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.slice(0, 20))
    await refused(['run', '--resume', '--dir', dir], 2, 'CONFIG_INVALID', /run\.json: expected JSON, got/)
    await writeFile(file, JSON.stringify({ ...JSON.parse(text), seed: 'x' }))
    await refused(['run', '--resume', '--dir', dir], 2, 'CONFIG_INVALID', /run\.json: field seed: .*number/)
    await writeFile(file, text)
    await resumes(dir)
  })

  test('of a deterministic run on another numeric profile', async () => {
    const dir = await copyOfKilled('profile')
    const file = join(dir, 'run.json')
    const text = await readFile(file, 'utf8')
    const manifest = JSON.parse(text) as { profile: Record<string, unknown> }
    await writeFile(file, JSON.stringify({ ...manifest, profile: { ...manifest.profile, threads: 77 } }))
    const mismatch = /threads: expected 77, got \d+/
    await refused(['run', '--resume', '--dir', dir], 1, 'PROFILE_MISMATCH', mismatch)
    await writeFile(file, text)
    await resumes(dir)
  })
})

describe('a log', () => {
  test.each([
    ['truncated', (file: string) => truncate(file, 20_000)],
    ['overwritten', (file: string) => writeFile(file, Buffer.alloc(40_000, 'x'))],
    ['empty', (file: string) => truncate(file, 0)],
  ])('that is %s is named; restored, the run goes on', async (name, damage) => {
    const dir = await copyOfKilled(`log-${name}`)
    const file = join(dir, 'log', 'data.mdb')
    await damage(file)
    for (const args of [
      ['run', '--resume', '--dir', dir],
      ['report', dir],
      ['topics', 'ls', dir],
    ]) {
      await refused(args, 1, 'LOG_CORRUPT', /run\/log\/data\.mdb: the log is damaged: /)
    }
    await cp(join(killed, 'log', 'data.mdb'), file)
    await resumes(dir)
  })

  test('that is missing does not begin again over the checkpoints', async () => {
    const dir = await copyOfKilled('log-missing')
    await rename(join(dir, 'log'), join(space.dir, 'away'))
    await refused(
      ['run', '--resume', '--dir', dir],
      1,
      'LOG_CORRUPT',
      /run\/log: expected the log .*got none/,
    )
    await rename(join(space.dir, 'away'), join(dir, 'log'))
    await resumes(dir)
  })
})

describe('a checkpoint', () => {
  const newest = async (dir: string) => (await readdir(join(dir, 'checkpoints'))).sort().at(-1)!

  test('with a damaged file, or none', async () => {
    const dir = await copyOfKilled('checkpoint')
    const folder = join(dir, 'checkpoints', await newest(dir))
    const file = join(folder, 'model.safetensors')
    const bytes = await readFile(file)
    const damaged = Buffer.from(bytes)
    damaged[damaged.length - 1]! ^= 1
    await writeFile(file, damaged)
    const invalid = /model\.safetensors: expected \d+ bytes with sha256 .* got \d+ bytes with/
    await refused(['run', '--resume', '--dir', dir], 1, 'CHECKPOINT_INVALID', invalid)
    await refused(['eval', dir], 1, 'CHECKPOINT_INVALID', invalid)
    await writeFile(file, bytes)
    await rename(join(dir, 'checkpoints'), join(dir, 'away'))
    const missing = /checkpoints\/.*: expected a file of \d+ bytes, got none/
    await refused(['run', '--resume', '--dir', dir], 1, 'CHECKPOINT_NOT_FOUND', missing)
    await rename(join(dir, 'away'), join(dir, 'checkpoints'))
    await resumes(dir)
  })

  test('of another model', async () => {
    const init = join(killed, 'checkpoints', await newest(killed))
    const change = async (name: string, model: object) => {
      await mkdir(join(space.dir, name))
      const base = quickRun({ init })
      return writeConfig(join(space.dir, name), { ...base, model: { ...base.model, ...model } })
    }
    const dir = join(space.dir, 'shaped')
    const wider = await change('wider', { hidden: 128 })
    const shapes = /model\.init: .*model\.safetensors: tensor \S+: expected \[\d+, 128\], got \[\d+, 64\]/
    await refused(['run', wider, '--dir', dir], 2, 'CONFIG_INVALID', shapes)
    const longer = await change('longer', { maxLength: 72 })
    const field = /config\.json: max_position_embeddings: expected 72, got 64/
    await refused(['run', longer, '--dir', dir], 2, 'CONFIG_INVALID', field)
    const nowhere = await change('nowhere', { init: 'nowhere' })
    await refused(['run', nowhere, '--dir', dir], 2, 'CONFIG_INVALID', /nowhere: expected a folder/)
    expect(existsSync(dir)).toBe(false)
  })

  test('that eval does not know', () =>
    refused(
      ['eval', killed, '--checkpoint', 'x'],
      1,
      'CHECKPOINT_NOT_FOUND',
      /expected latest, start, .*got x/,
    ))
})

/** Whether this user may mount a file system of a given size, as in a container with that right. */
function canMount(): boolean {
  if (process.platform !== 'linux') return false
  const made = spawnSync('sh', [
    '-c',
    'd=$(mktemp -d) && mount -t tmpfs -o size=1m tmpfs $d && umount $d && rmdir $d',
  ])
  return made.status === 0
}

describe.runIf(canMount())('a full disk', () => {
  test('ends the run with LOG_FULL, and it goes on where it was once there is space', async () => {
    const disk = join(space.dir, 'disk')
    await mkdir(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk])
    try {
      const dir = join(disk, 'run')
      const ended = await cascade(['run', config, '--deterministic', '--dir', dir])
      expect(ended.stderr).toMatch(/^error LOG_FULL: \S*disk\/run\/\S+: [^\n]+\n$/)
      expect(ended.code).toBe(1)
      const before = await recordsOf(dir)
      expect(before.checkpoints!.length).toBeGreaterThan(0)
      execFileSync('mount', ['-o', 'remount,size=64m', disk])
      expect(await cascade(['run', '--resume', '--dir', dir])).toMatchObject({ code: 0, stderr: '' })
      expect(await recordsOf(dir)).toEqual(whole)
    } finally {
      execFileSync('umount', ['--lazy', disk])
    }
  })
})
