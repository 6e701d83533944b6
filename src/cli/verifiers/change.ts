import { follow } from '../../../streams/follow.ts'
import {
  CascadeError,
  control,
  type Rollout,
  rlDomains,
  rollouts,
  type VerifierAsked,
  type VerifierChange,
} from '../../../topics/index.ts'
import { bundleVerifier } from '../../verifiers/swap/bundle.ts'
import { VerifierStore } from '../../verifiers/swap/store.ts'
import { tryBundle } from '../../verifiers/swap/try-bundle.ts'
import type { Context } from '../command.ts'
import { submitVerifier } from '../control-inbox.ts'
import { logFolder, type OpenRun } from '../open-run.ts'
import { print } from '../output/print.ts'
import { refuseIdle, tookEffect } from '../took-effect.ts'
import { checkName, meant, versionHistory } from './versions.ts'

interface StageFlags {
  as: string
  options?: unknown
  timeout: number
  json?: true
}

/** Recorded rollouts that a candidate must be able to judge before it is staged. */
const tried = 32

/** `cascade verifiers stage`: bundled, tried in a process of its own, kept in the run's store, and only then staged. */
export async function stage(
  open: OpenRun,
  entry: string,
  flags: StageFlags,
  context: Context,
): Promise<void> {
  checkName(flags.as, open.manifest.config)
  await refuseIdle(open.dir)
  const bundle = await bundleVerifier(entry, context.cwd, flags.options)
  const version = await tryBundle(bundle, {
    entry,
    limits: { wallMs: open.manifest.config.verify.timeoutMs },
    rollouts: await latestRollouts(open, flags.as, context.signal),
    signal: context.signal,
  })
  await new VerifierStore(open.dir).put(bundle, { name: flags.as, version })
  await ask(open, { action: 'stage', name: flags.as, version, codeHash: bundle.codeHash }, flags, context)
}

/** The newest rollouts that a verifier judges, of every domain. */
async function latestRollouts(
  { log, manifest }: OpenRun,
  verifier: string,
  signal: AbortSignal,
): Promise<Rollout[]> {
  const domains = rlDomains(manifest.config.stages)
  const found: Rollout[] = []
  for (const domain of domains) {
    const topic = rollouts(domain)
    const [earliest, latest] = [
      await log.offset(topic.name, 'earliest'),
      await log.offset(topic.name, 'latest'),
    ]
    const from = Math.max(earliest, latest - tried)
    await follow(log, topic, { from, until: 'end', signal }, ({ value }) => {
      if (value.verifier === verifier) found.push(value)
    })
  }
  return found.slice(-tried)
}

interface ChangeFlags {
  verifier?: string
  after?: number
  maxFlips?: number
  maxErrors?: number
  timeout: number
  json?: true
}

/** `cascade verifiers promote | rollback | withdraw`. */
export async function change(
  open: OpenRun,
  action: 'promote' | 'rollback' | 'withdraw',
  flags: ChangeFlags,
  context: Context,
): Promise<void> {
  const { after, maxFlips, maxErrors } = flags
  if (after === undefined && (maxFlips !== undefined || maxErrors !== undefined)) {
    throw new CascadeError('USAGE', '--after: expected with --max-flips and --max-errors, got none')
  }
  const history = await versionHistory(open.log, context.signal)
  const name = meant(history, action, flags.verifier, open.manifest.config)
  await refuseIdle(open.dir)
  const rule = after === undefined ? undefined : { after, maxFlips: maxFlips ?? 1, maxErrors: maxErrors ?? 0 }
  await ask(open, { action, name, ...(rule ? { rule } : {}) }, flags, context)
}

async function ask(
  open: OpenRun,
  asked: VerifierAsked,
  flags: { timeout: number; json?: true },
  context: Context,
): Promise<void> {
  const from = await open.log.offset(control.name, 'latest')
  const id = await submitVerifier(logFolder(open.dir), asked)
  const { value, offset } = await tookEffect(open, from, id, flags.timeout * 1000, context.signal)
  const { type: _, epoch: __, seq: ___, ...said } = value as VerifierChange
  if (said.refused !== undefined) {
    throw new CascadeError('USAGE', `${asked.action} ${asked.name}: ${said.refused}`)
  }
  const text = flags.json ? JSON.stringify({ ...said, offset }) : sentence(said)
  await print(context.stdout, `${text}\n`, context.signal)
}

function sentence({
  action,
  name,
  version,
  rule,
}: Pick<VerifierChange, 'action' | 'name' | 'version' | 'rule'>): string {
  const what = `${name}${version === undefined ? '' : ` ${version}`}`
  if (rule) return `${what} will be promoted after ${rule.after} rollouts, or withdrawn`
  const done = { stage: 'staged', promote: 'promoted', rollback: 'rolled back', withdraw: 'withdrawn' }
  return `${what} ${done[action]}`
}
