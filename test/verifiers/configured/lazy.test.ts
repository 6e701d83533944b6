import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../../..')
const script = `
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
const { ConfiguredVerifiers } = await import('./src/verifiers/configured/verifiers.ts')
const names = JSON.parse(process.env.NAMES)
const stored = () => Promise.reject(new Error('none'))
await using verifiers = await ConfiguredVerifiers.open(names, { entries: {}, concurrency: 1, size: 1, limits: {}, stored })
const { signal } = new AbortController()
await verifiers.preflight(signal)
console.log(JSON.stringify(loaded.filter((url) => /\\/src\\/verifiers\\/(instruction|math|code)\\/index/.test(url)).map((url) => url.split('/').at(-2))))
`

async function loadedFor(names: readonly string[]): Promise<unknown> {
  const args = ['--no-warnings', '--input-type=module', '-e', script]
  const env = { ...process.env, NAMES: JSON.stringify(names) }
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env })
  return JSON.parse(stdout)
}

test('the modules of kinds are loaded only where they are used', async () => {
  expect(await loadedFor(['sum', 'wording'])).toEqual([])
  expect(await loadedFor(['sum', 'math'])).toEqual(['math'])
})
