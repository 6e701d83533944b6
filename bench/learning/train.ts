import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { CascadeInput } from '../../src/cli/config.ts'
import type { Report } from '../../src/cli/report/types.ts'

export interface Trained {
  dir: string
  report: Report
}

/** Trains with the real program, in a process of its own. */
export async function train(config: CascadeInput, seed: number, dir: string): Promise<Trained> {
  await mkdir(dir, { recursive: true })
  const file = join(dir, 'cascade.config.mjs')
  await writeFile(file, `export default ${JSON.stringify(config)}\n`)
  const run = join(dir, 'run')
  const program = resolve(import.meta.dirname, '../../bin/cascade.js')
  const args = [program, 'run', file, '--dir', run, '--seed', String(seed), '--json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let last = ''
  let rest = ''
  for await (const chunk of child.stdout) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    last = lines.at(-1) ?? last
  }
  const said = JSON.parse(last || '{}') as { event?: string; end?: string; report?: Report }
  if (said.end !== 'done' || !said.report) throw new Error(`${run}: the run did not come to its end`)
  return { dir: run, report: said.report }
}
