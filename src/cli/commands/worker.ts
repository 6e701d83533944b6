import { Argument } from 'commander'
import { asyncScheduler } from 'rxjs'
import {
  type RoleName,
  roleNames,
  runGenerate,
  runGroup,
  runPack,
  runUpdate,
  runVerify,
} from '../../../streams/roles.ts'
import { openLog } from '../../log/index.ts'
import { localPolicy } from '../../policy/local.ts'
import { type VersionedEngine, versionedEngine } from '../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../update/checkpoint-store.ts'
import { restoreSink } from '../../update/restore.ts'
import type { Context, Register } from '../command.ts'
import { logFolder, runFolder } from '../open-run.ts'
import { backoff, clock, planOf, windowOf } from '../run/assemble.ts'
import { compareProfile, engineOf } from '../run/engine.ts'
import { openRunVerifiers } from '../run/open-verifiers.ts'
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
  await using log = await openLog({ dir: logFolder(dir), mode: 'append', clock, window: windowOf(config) })
  const options = { stages: config.stages, credit: config.credit, signal, once: true, clock }
  const withEngine = async (use: (versioned: VersionedEngine, store: CheckpointStore) => Promise<void>) => {
    await using engine = await engineOf(config, manifest.deterministic)
    const differs = compareProfile(manifest, engine)
    if (differs !== undefined) stderr.write(`warning: ${differs}\n`)
    await use(versionedEngine(engine), new CheckpointStore(dir))
  }
  /** The weights of all settled batches: the version that open prompts are stamped with. */
  const restored = (versioned: VersionedEngine, store: CheckpointStore) => {
    const { keepLast } = config.checkpoints
    const { init } = config.model
    const restore = { log, versioned, store, writerEpoch: log.epoch, clock, seed, keepLast, signal }
    return restoreSink({ ...restore, ...(init === undefined ? {} : { init }) })
  }
  // Awaited, not returned: the log closes when this scope ends.
  switch (role) {
    case 'generate':
      await withEngine(async (versioned, store) => {
        await restored(versioned, store)
        const policy = localPolicy(versioned, store)
        await runGenerate(log, policy, { ...options, decodeRows: config.engine.decodeRows })
      })
      break
    case 'verify': {
      await using verifiers = await openRunVerifiers(log, dir, config, signal)
      await runVerify(log, verifiers, { ...options, ...config.verify, backoff, scheduler: asyncScheduler })
      break
    }
    case 'group':
      await runGroup(log, options)
      break
    case 'pack':
      await runPack(log, { ...options, seed, plan: planOf(config) })
      break
    case 'update':
      await withEngine(async (versioned, store) => {
        await runUpdate(log, await restored(versioned, store), options)
      })
      break
  }
}
