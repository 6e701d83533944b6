import { Argument } from 'commander'
import { asyncScheduler } from 'rxjs'
import { follow } from '../../../streams/follow.ts'
import type { Policy, TopicLog } from '../../../streams/ports.ts'
import {
  type RoleName,
  roleNames,
  runGenerate,
  runGroup,
  runPack,
  runUpdate,
  runVerify,
} from '../../../streams/roles.ts'
import { CascadeError, type Checkpoint, checkpoints } from '../../../topics/index.ts'
import { openLog } from '../../log/index.ts'
import { localPolicy } from '../../policy/local.ts'
import { type VersionedEngine, versionedEngine } from '../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../update/checkpoint-store.ts'
import { restoreSink } from '../../update/restore.ts'
import { builtInVerifiers } from '../../verifiers/registry.ts'
import type { Context, Register } from '../command.ts'
import { logFolder, runFolder } from '../open-run.ts'
import { clock, planOf } from '../run/assemble.ts'
import { compareProfile, engineOf } from '../run/engine.ts'
import { type Manifest, readManifest } from '../run-folder.ts'

export const register: Register = (program, context) => {
  program
    .command('worker')
    .description(
      'Run one operator of a run alone, on what its input topic holds: it reads, works, commits outputs and positions, and ends when the input is used up.',
    )
    .addArgument(new Argument('<role>', 'the operator').choices(roleNames))
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .addHelpText('after', '\nExample:\n  $ cascade worker verify runs/first')
    .action(async (role: RoleName, run: string | undefined) => {
      const dir = await runFolder(context, run)
      await work(role, dir, await readManifest(dir), context)
    })
}

async function work(role: RoleName, dir: string, manifest: Manifest, context: Context): Promise<void> {
  const { signal, stderr } = context
  const { config, seed } = manifest
  await using log = await openLog({ dir: logFolder(dir), mode: 'append', clock })
  const options = { stages: config.stages, credit: config.credit, signal, once: true, clock }
  const withEngine = async (use: (versioned: VersionedEngine, store: CheckpointStore) => Promise<void>) => {
    await using engine = await engineOf(config, manifest.deterministic)
    const differs = compareProfile(manifest, engine)
    if (differs !== undefined) stderr.write(`warning: ${differs}\n`)
    await use(versionedEngine(engine), new CheckpointStore(dir))
  }
  // Awaited, not returned: the log closes when this scope ends.
  switch (role) {
    case 'generate':
      await withEngine(async (versioned, store) => {
        const policy = localPolicy(versioned, store)
        await loadLatest(log, policy, signal)
        await runGenerate(log, policy, { ...options, decodeRows: config.engine.decodeRows })
      })
      break
    case 'verify':
      await runVerify(log, builtInVerifiers(), { ...options, ...config.verify, scheduler: asyncScheduler })
      break
    case 'group':
      await runGroup(log, options)
      break
    case 'pack':
      await runPack(log, { ...options, seed, plan: planOf(config) })
      break
    case 'update':
      await withEngine(async (versioned, store) => {
        const { keepLast } = config.checkpoints
        const { init } = config.model
        const restore = { log, versioned, store, writerEpoch: log.epoch, clock, seed, keepLast, signal }
        const sink = await restoreSink({ ...restore, ...(init === undefined ? {} : { init }) })
        await runUpdate(log, sink, options)
      })
      break
  }
}

/** The newest weights that are committed. @throws `CHECKPOINT_NOT_FOUND` where there are none */
async function loadLatest(log: TopicLog, policy: Policy, signal: AbortSignal): Promise<void> {
  let newest: Checkpoint | undefined
  await follow(log, checkpoints, { from: 0, until: 'end', signal }, (r) => {
    newest = r.value
  })
  if (!newest) {
    throw new CascadeError('CHECKPOINT_NOT_FOUND', 'checkpoints: expected one to generate with, got none')
  }
  await policy.load(newest)
}
