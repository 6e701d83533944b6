import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** The package as a user gets it: packed, installed into an empty folder with what it needs in production, and run there. */
const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'cascade-package-'))
const app = join(folder, 'app')

/** The lowest Node that the package says it runs on, and the one it is developed with. */
const lowest = `${manifest.engines.node.replace('>=', '')}.0`
const lowestBin = join(folder, 'node', 'node_modules', `node-${process.platform}-${process.arch}`, 'bin/node')

const execute = promisify(execFile)
let packed: string[] = []

async function npm(cwd: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  // A folder without it is npm's root only where none above has one.
  if (!existsSync(join(cwd, 'package.json'))) {
    mkdirSync(cwd, { recursive: true })
    writeFileSync(join(cwd, 'package.json'), '{ "private": true }\n')
  }
  return await execute('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline'], { cwd })
}

interface Ran {
  code: number
  stdout: string
  stderr: string
}

async function cascade(node: string, ...args: string[]): Promise<Ran> {
  const bin = join(app, 'node_modules/cascade-rl', manifest.bin.cascade)
  const options = { cwd: app, env: { ...process.env, PATH: '/usr/bin:/bin' }, maxBuffer: 64 * 1024 * 1024 }
  return await execute(node, [bin, ...args], options).then(
    (output) => ({ code: 0, ...output }),
    (error: Ran) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  )
}

beforeAll(async () => {
  const { stdout } = await npm(root, 'pack', '--json', '--pack-destination', folder)
  const [pack]: { filename: string; files: { path: string }[] }[] = JSON.parse(
    stdout.slice(stdout.indexOf('[')),
  )
  packed = pack!.files.map((file) => file.path)
  await npm(app, 'install', '--omit=dev', '--onnxruntime-node-install=skip', join(folder, pack!.filename))
  await npm(join(folder, 'node'), 'install', `node-${process.platform}-${process.arch}@${lowest}`)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the tarball holds the build, the licence and the words, nothing else', () => {
  const rest = packed.filter((path) => !/^dist\/(topics|streams|src)\/.*\.(js|d\.ts)$/.test(path))
  expect(rest.toSorted()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'bin/cascade.js', 'package.json'])
})

test('no development dependency comes along', () => {
  for (const name of Object.keys(manifest.devDependencies).filter((name) => name !== '@types/node'))
    expect(existsSync(join(app, 'node_modules', name)), name).toBe(false)
})

describe.each([
  { title: `Node ${lowest}, the lowest`, node: lowestBin },
  { title: `Node ${process.versions.node}`, node: process.execPath },
])('$title', ({ node }) => {
  test('cascade --help', async () => {
    const { code, stdout, stderr } = await cascade(node, '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const command of ['run', 'eval', 'topics', 'doctor', 'report']) expect(stdout).toMatch(command)
  })

  test('cascade doctor', async () => {
    const { code, stdout, stderr } = await cascade(node, 'doctor', '--json')
    expect(stderr).toBe('')
    expect(JSON.parse(stdout).checks.filter((c: { status: string }) => c.status === 'fail')).toEqual([])
    expect(code).toBe(0)
  })

  test('the library is importable', async () => {
    const script = "import('cascade-rl').then(({ rollouts }) => console.log(rollouts('math').name))"
    const { stdout } = await execute(node, ['-e', script], { cwd: app })
    expect(stdout).toBe('rollouts.math\n')
  })

  test('a short run, from its config to its report', async () => {
    writeFileSync(join(app, 'cascade.config.mjs'), shortConfig)
    const dir = join(app, `run-${node === lowestBin ? 'lowest' : 'current'}`)
    const run = await cascade(node, 'run', 'cascade.config.mjs', '--dir', dir, '--seed', '1', '--json')
    expect(run).toMatchObject({ code: 0, stderr: '' })
    const report = await cascade(node, 'report', dir, '--json')
    expect(JSON.parse(report.stdout).stages.map((s: { name: string }) => s.name)).toEqual(['sft', 'math'])
  })

  test('a wrong word ends with 2', async () => {
    expect(await cascade(node, 'runn')).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('a clone under a Node that cannot run its sources', () => {
  const bin = join(root, manifest.bin.cascade)

  test('goes on under the one in node_modules', async () => {
    const { stdout, stderr } = await execute(lowestBin, [bin, '--help'])
    expect(stderr).toBe('')
    expect(stdout).toMatch('Usage: cascade')
  })

  test('passes exit codes through', async () => {
    await expect(execute(lowestBin, [bin, 'runn'])).rejects.toMatchObject({ code: 2 })
  })

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'passes %s through, once: the run stops in order',
    async (signal) => {
      writeFileSync(join(app, 'long.config.mjs'), shortConfig.replace('steps: 2', 'steps: 5000'))
      const args = [bin, 'run', 'long.config.mjs', '--dir', `run-${signal}`, '--json']
      const child = spawn(lowestBin, args, { cwd: app })
      const exit = once(child, 'exit')
      const errors = text(child.stderr)
      // Leaving an iteration of stdout would close it, and a closed pipe stops a run without a word.
      const stepped = new Promise<void>((resolve) => {
        child.stdout.on('data', (lines) => String(lines).includes('"event":"step"') && resolve())
      })
      await stepped
      child.kill(signal)
      expect(await exit).toEqual([130, null])
      expect(await errors).toMatch('INTERRUPTED')
    },
  )
})

const shortConfig = `
import { defineCascade } from 'cascade-rl'

const common = { steps: 2, lr: 1e-3 }
export default defineCascade({
  model: { layers: 1, hidden: 32, heads: 2 },
  stages: [
    { kind: 'sft', name: 'sft', domain: 'math', tasks: ['math'], batch: 8, ...common },
    { kind: 'rl', name: 'math', domain: 'math', task: 'math', prompts: 2, groupSize: 4, maxTokens: 8, ...common },
  ],
  evaluation: { prompts: 8 },
})
`
