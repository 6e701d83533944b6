import { readdirSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { isCascadeError } from '../topics/errors.ts'
import type { Bench, Figure } from './figure.ts'

/**
 * `npm run bench` lists the benches; `npm run bench -- NAME [--json]` runs one. With `--json` standard output has one JSON line a
 * figure: {@link Figure} and `load`, the machine's 1-minute load average when the bench began and when the figure came.
 */
const helpers = new Set(['index.ts', 'figure.ts'])

function names(): string[] {
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !helpers.has(entry.name))
    .map((entry) => entry.name.slice(0, -'.ts'.length))
    .sort()
}

async function load(name: string): Promise<Bench> {
  const bench = (await import(`./${name}.ts`)) as Partial<Bench>
  if (typeof bench.summary !== 'string' || typeof bench.run !== 'function')
    throw new TypeError(`bench/${name}.ts: expected the exports of a Bench (see bench/figure.ts)`)
  return bench as Bench
}

async function list(): Promise<void> {
  const all = names()
  const width = Math.max(...all.map((name) => name.length))
  for (const name of all) console.log(`${name.padEnd(width)}  ${(await load(name)).summary}`)
}

async function run(name: string, json: boolean): Promise<void> {
  const bench = await load(name)
  const before = now()
  if (!json) console.log(`${bench.summary}\n${cpus().length} x ${cpus()[0]?.model}, load ${before}\n`)
  for await (const figure of await bench.run()) {
    console.log(json ? JSON.stringify({ ...figure, load: [before, now()] }) : line(figure))
  }
}

function now(): number {
  return Number(loadavg()[0]!.toFixed(2))
}

function line({ figure, ours, peer, ratio, unit, seconds }: Figure): string {
  return `${figure}: ${ratio} (ours ${ours}, peer ${peer} ${unit}), ${seconds.toFixed(0)} s, load ${now()}`
}

async function main(): Promise<void> {
  let parsed: ReturnType<typeof options>
  try {
    parsed = options()
  } catch (error) {
    return wrong((error as Error).message)
  }
  const { values, positionals } = parsed
  const [name, ...rest] = positionals
  if (name === undefined) await list()
  else if (names().includes(name) && rest.length === 0) await run(name, values.json)
  else wrong(`expected one of the benches ${names().join(', ')}, got ${positionals.join(' ')}`)
}

function options() {
  return parseArgs({
    options: { json: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
}

function wrong(message: string): void {
  console.error(message)
  process.exitCode = 2
}

try {
  await main()
} catch (error) {
  // A missing peer: what to install, and no stack.
  if (!isCascadeError(error, 'USAGE')) throw error
  wrong(error.message)
}
