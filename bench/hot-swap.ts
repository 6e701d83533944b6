import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { submitVerifier } from '../src/cli/control-inbox.ts'
import { type EmbeddedLog, openLog } from '../src/log/index.ts'
import { bundleVerifier } from '../src/verifiers/swap/bundle.ts'
import { VerifierStore } from '../src/verifiers/swap/store.ts'
import { follow } from '../streams/follow.ts'
import { control, rewards, rollouts } from '../topics/index.ts'
import { type Figure, median } from './figure.ts'

export const summary =
  'a verifier swap every two seconds for two minutes in a run at full load: how soon it shows, and that nothing is lost'

const domain = 'math'
const config = {
  model: { layers: 2, hidden: 64, heads: 4, kvHeads: 2, maxLength: 64 },
  evaluation: { prompts: 4 },
  stages: [
    { kind: 'sft', name: 'sft', domain: 'mixed', tasks: ['math'], steps: 250, batch: 32, lr: 4e-3 },
    {
      kind: 'rl',
      name: 'rl',
      domain,
      task: 'math',
      steps: 100_000,
      patience: 100_000,
      prompts: 16,
      groupSize: 8,
      maxTokens: 32,
      lr: 1e-5,
    },
  ],
}

/**
 * Milliseconds from the moment at which a promotion is submitted to the first reward that the new version gave, and rollouts a second
 * beside those of the same run before the first swap. The run is a process of its own, as are the verifiers.
 *
 * @throws where a rollout is lost or scored twice, a group has two versions, a swap never shows, or a recorded replay of the run comes to
 * other weights than the run
 */
export async function run(swaps = 60, everyMs = 2_000): Promise<Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'cascade-bench-'))
  const began = performance.now()
  const file = join(dir, 'cascade.config.mjs')
  writeFileSync(file, `export default ${JSON.stringify(config)}\n`)
  const program = new URL('../bin/cascade.js', import.meta.url).pathname
  const child = spawn(process.execPath, [program, 'run', file, '--dir', join(dir, 'run'), '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (text) => String(text).includes('"step","stage":"rl"') && resolve())
    })
    const runDir = join(dir, 'run')
    await using log = await openLog({
      dir: join(runDir, 'log'),
      mode: 'read',
      clock: { now: () => Date.now() },
    })
    const before = await rateOver(log, 10_000)
    const submitted: { codeHash: string; at: number }[] = []
    const first = await log.offset(rewards(domain).name, 'latest')
    for (let i = 0; i < swaps; i++) {
      const next = wait(everyMs)
      submitted.push(await swap(dir, runDir, i))
      await next
    }
    const seconds = (swaps * everyMs) / 1000
    const during = ((await log.offset(rewards(domain).name, 'latest')) - first) / seconds
    child.kill('SIGINT')
    await once(child, 'exit')
    const visible = await checked(log, submitted)
    const replayed = replay(program, runDir)
    const took = (performance.now() - began) / 1000
    const figure = (name: string, ours: number, peer: number, ratio: number, unit: string): Figure => ({
      bench: 'hot-swap',
      figure: name,
      ours: Number(ours.toFixed(1)),
      peer: Number(peer.toFixed(1)),
      ratio: Number(ratio.toFixed(2)),
      unit,
      seconds: took,
    })
    const [most, mid] = [Math.max(...visible), median(visible)]
    return [
      figure(`${swaps} swaps, slowest to show/a second`, most, 1000, 1000 / most, 'ms'),
      figure(`${swaps} swaps, median to show/a second`, mid, 1000, 1000 / mid, 'ms'),
      figure('rollouts while swapping/before', during, before, during / before, 'rollouts/s'),
      figure(
        'steps replayed to the same weights/all',
        replayed.equal,
        replayed.steps,
        replayed.equal / replayed.steps,
        'steps',
      ),
    ]
  } finally {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Steps that a recorded replay rebuilds, and those that come to what the run recorded. @throws where the last weights are others */
function replay(program: string, dir: string): { steps: number; equal: number } {
  const args = [
    'replay',
    dir,
    '--topic',
    `rollouts.${domain}`,
    '--from',
    'stage:rl',
    '--mode',
    'recorded',
    '--apply',
    '--json',
  ]
  const out = execFileSync(process.execPath, [program, ...args], {
    maxBuffer: 1e9,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines = String(out)
    .trim()
    .split('\n')
    .map(
      (line) =>
        JSON.parse(line) as { event: string; batchEqual?: boolean; updateEqual?: boolean; equal?: boolean },
    )
  const steps = lines.filter((l) => l.event === 'step')
  const result = lines.find((l) => l.event === 'result')
  if (result?.equal !== true)
    throw new Error(`replay: expected the weights of the run, got ${JSON.stringify(result)}`)
  return { steps: steps.length, equal: steps.filter((s) => s.batchEqual && s.updateEqual).length }
}

async function rateOver(log: EmbeddedLog, ms: number): Promise<number> {
  const from = await log.offset(rewards(domain).name, 'latest')
  await wait(ms)
  return ((await log.offset(rewards(domain).name, 'latest')) - from) / (ms / 1000)
}

async function swap(dir: string, runDir: string, i: number): Promise<{ codeHash: string; at: number }> {
  const file = join(dir, `v${i}.js`)
  writeFileSync(file, `export const judge = (r) => ((r.length + ${i}) % 3 === 0 ? 1 : 0)\n`)
  const bundle = await bundleVerifier(file, dir)
  const { codeHash } = bundle
  const version = `v${i}`
  await new VerifierStore(runDir).put(bundle, { name: 'sum', version })
  const inbox = join(runDir, 'log')
  await submitVerifier(inbox, { action: 'stage', name: 'sum', version, codeHash })
  const at = Date.now()
  await submitVerifier(inbox, { action: 'promote', name: 'sum' })
  return { codeHash, at }
}

/** Milliseconds that each swap took to show, after all that must hold has been looked at. */
async function checked(
  log: EmbeddedLog,
  swaps: readonly { codeHash: string; at: number }[],
): Promise<number[]> {
  const { signal } = new AbortController()
  const read = { from: 0, until: 'end', signal } as const
  const shown = new Map<string, number>()
  const versions = new Map<string, string>()
  const judged = new Set<string>()
  await follow(log, rewards(domain), read, ({ value, timestamp }) => {
    const hash = value.rewards[0]!.codeHash
    if (judged.has(value.id)) throw new Error(`rollout ${value.id}: scored twice`)
    if (value.kind !== 'reward') throw new Error(`rollout ${value.id}: ${value.reason}`)
    const pinned = versions.get(value.groupId)
    if (pinned !== undefined && pinned !== hash) throw new Error(`group ${value.groupId}: two versions`)
    judged.add(value.id)
    versions.set(value.groupId, hash)
    if (!shown.has(hash)) shown.set(hash, timestamp)
  })
  const needed = new Set<string>()
  const members = new Map<string, string[]>()
  await follow(log, rollouts(domain), read, ({ value }) => {
    members.set(value.groupId, [...(members.get(value.groupId) ?? []), value.id])
  })
  await follow(log, control, read, ({ value }) => {
    if (value.type === 'batch-closed') for (const { groupId } of value.groups) needed.add(groupId)
    if (value.type === 'verifier' && value.refused !== undefined) throw new Error(value.refused)
  })
  for (const group of needed) {
    const lost = members.get(group)?.filter((id) => !judged.has(id)) ?? [group]
    if (lost.length > 0)
      throw new Error(`group ${group}: expected verdicts of all, got none of ${lost.join()}`)
  }
  return swaps.map(({ codeHash, at }, i) => {
    const first = shown.get(codeHash)
    if (first === undefined) throw new Error(`swap ${i}: expected a reward of the new version, got none`)
    return Math.max(0, first - at)
  })
}
