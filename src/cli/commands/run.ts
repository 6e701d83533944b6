import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import { checkpointsFolder } from '../../update/checkpoint-store.ts'
import { VerifierStore } from '../../verifiers/swap/store.ts'
import { packageVersion } from '../../version.ts'
import type { Context, Register } from '../command.ts'
import { configFile, hashConfig, loadConfig } from '../config.ts'
import { logFolder, runsFolder } from '../open-run.ts'
import { print } from '../output/print.ts'
import { createProgress } from '../output/progress.ts'
import { styleOf, wantsColor } from '../output/style.ts'
import { terminalReport } from '../report/index.ts'
import { compareProfile, engineOf } from '../run/engine.ts'
import { runCascade } from '../run/run-cascade.ts'
import { newRunId } from '../run/run-id.ts'
import { checkServed, configOf } from '../run/served-config.ts'
import { bundleFiles, checkEnvironment, type FileVerifier } from '../run/used-verifiers.ts'
import { createRun, latestRun, type Manifest, readManifest, refuseExisting } from '../run-folder.ts'

interface Flags {
  dir?: string
  seed?: number
  deterministic?: true
  resume?: true
  json?: true
}

export const register: Register = (program, context) => {
  program
    .command('run')
    .description(
      'Train a model through the stages of a config, on the embedded log, and write a report. Ctrl-C stops it; --resume goes on.',
    )
    .argument(
      '[config]',
      `a module with defineCascade (default: ./${configFile}, else the built-in one for a laptop)`,
    )
    .option('--dir <run>', `run folder (default: ${runsFolder}/<time>)`)
    .option('--seed <n>', 'seed of weights, prompts and every draw (default: 0)', seedOf)
    .option('--deterministic', 'same bits whatever happens: decode a group at a time; slower')
    .option('--resume', 'go on with the run in --dir, or with the newest one')
    .option('--json', 'progress and result as JSON lines')
    .addHelpText(
      'after',
      '\nExample:\n  $ cascade run --dir runs/first --seed 1\n  $ cascade run --resume --dir runs/first',
    )
    .action((config: string | undefined, flags: Flags) => run(config, flags, context))
}

async function run(given: string | undefined, flags: Flags, context: Context): Promise<void> {
  const begun = flags.resume ? await resumed(given, flags, context) : await started(given, flags, context)
  const { dir, manifest, files } = begun
  const { stdout, env, signal } = context
  const progress = createProgress({
    stream: stdout,
    clock: { now: () => Date.now() },
    env,
    ...(flags.json ? { json: true } : {}),
  })
  const shown = relative(context.cwd, dir) || dir
  try {
    progress.note(`run ${manifest.runId} · seed ${manifest.seed} · ${shown}`)
    await using engine = await engineOf(manifest.config, manifest.deterministic)
    if (flags.resume) {
      const differs = compareProfile(manifest, engine)
      if (differs !== undefined) progress.note(`warning: ${differs}`)
    } else {
      manifest.profile = { ...engine.profile }
      const store = new VerifierStore(dir)
      await createRun(dir, manifest, async () => {
        for (const { name, version, bundle } of files) await store.put(bundle, { name, version })
      })
    }
    const { end, report } = await runCascade({ dir, manifest, engine, progress, context })
    progress.close()
    if (flags.json) {
      await print(stdout, `${JSON.stringify({ event: 'report', dir, end, report })}\n`, signal)
    } else {
      const style = styleOf(wantsColor(stdout, env))
      await print(stdout, `\n${terminalReport(report, { style, columns: stdout.columns ?? 100 })}\n`, signal)
      await print(stdout, `report: ${shown}/report.html\n`, signal)
    }
    if (end === 'stopped') {
      progress.note(resumeHint(shown))
      context.exitWith(130)
    }
  } catch (error) {
    progress.close()
    // Of what an abort brings with it only its own reason is a mere interruption.
    if (signal.aborted && (error === signal.reason || isCascadeError(error, 'INTERRUPTED')))
      throw new CascadeError('INTERRUPTED', `interrupted; ${resumeHint(shown)}`, { cause: error })
    throw error
  }
}

function resumeHint(dir: string): string {
  return `go on with: cascade run --resume --dir ${dir}`
}

interface Begun {
  dir: string
  manifest: Manifest
  /** Modules of verifiers that the run has yet to take in. */
  files: readonly FileVerifier[]
}

async function started(given: string | undefined, flags: Flags, context: Context): Promise<Begun> {
  const { config, name } = await configOf(given, context)
  const seed = flags.seed ?? 0
  // Before anything is written: a config that cannot be served is an error of the config.
  await checkServed(config, name, seed)
  checkEnvironment(config, context.env)
  const files = await bundleFiles(config, context.signal)
  const runs = resolve(context.cwd, runsFolder)
  const dir =
    flags.dir === undefined ? resolve(runs, newRunId(runs, new Date())) : resolve(context.cwd, flags.dir)
  await refuseExisting(dir)
  const manifest: Manifest = {
    runId: dir.split(/[\\/]/).at(-1) || 'run',
    version: packageVersion(),
    seed,
    deterministic: flags.deterministic ?? false,
    createdAt: new Date().toISOString(),
    configHash: hashConfig(config),
    config,
    profile: {},
  }
  if (files.length > 0) {
    manifest.verifiers = Object.fromEntries(
      files.map(({ name, version, bundle: { codeHash } }) => [name, { version, codeHash }]),
    )
  }
  return { dir, manifest, files }
}

async function resumed(given: string | undefined, flags: Flags, context: Context): Promise<Begun> {
  const runs = resolve(context.cwd, runsFolder)
  const dir = flags.dir === undefined ? await latestRun(runs) : resolve(context.cwd, flags.dir)
  const manifest = await readManifest(dir)
  const refuse = (option: string, expected: unknown, got: unknown) => {
    throw new CascadeError(
      'USAGE',
      `${option}: expected ${expected}, as the run in ${dir} began with, got ${got}`,
    )
  }
  const { rescored, imported } = manifest
  if (rescored || imported) {
    const got = rescored
      ? `the rollouts of ${rescored.run} judged again; the replay with --train that wrote it goes on with its training, and model.init trains on from its checkpoints`
      : `imported ${imported?.format} rollouts`
    throw new CascadeError('USAGE', `${dir}: expected a run that was trained, got ${got}`)
  }
  if (flags.seed !== undefined && flags.seed !== manifest.seed) refuse('--seed', manifest.seed, flags.seed)
  if (flags.deterministic && !manifest.deterministic) refuse('--deterministic', 'none', 'one')
  if (given !== undefined) {
    const hash = hashConfig(await loadConfig(resolve(context.cwd, given)))
    if (hash !== manifest.configHash)
      refuse('config', `one of hash ${manifest.configHash}`, `${given} of hash ${hash}`)
  }
  // The log is there before the first checkpoint: going on without it would begin again and remove what was learnt.
  if (existsSync(join(dir, checkpointsFolder)) && !existsSync(logFolder(dir))) {
    throw new CascadeError(
      'LOG_CORRUPT',
      `${logFolder(dir)}: expected the log of a run with checkpoints, got none`,
    )
  }
  checkEnvironment(manifest.config, context.env)
  return { dir, manifest, files: [] }
}

function seedOf(text: string): number {
  const seed = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(seed) || seed < 0)
    throw new InvalidArgumentError('expected a whole number of at least 0.')
  return seed
}
