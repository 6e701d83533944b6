import { InvalidArgumentError } from 'commander'
import type { Checkpoint, Evaluation } from '../../../topics/index.ts'
import { CascadeError } from '../../../topics/index.ts'
import { localEvaluator } from '../../policy/evaluator.ts'
import { versionedEngine } from '../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../update/checkpoint-store.ts'
import { loadCheckpoint } from '../../update/load-checkpoint.ts'
import type { Context, Register } from '../command.ts'
import { type OpenRun, withRun } from '../open-run.ts'
import { percent, range } from '../output/format.ts'
import { print } from '../output/print.ts'
import { table } from '../output/table.ts'
import { clock } from '../run/assemble.ts'
import { compareProfile, engineOf } from '../run/engine.ts'
import { findCheckpoint } from '../run/find-checkpoint.ts'
import { openEvaluationVerifiers } from '../run/open-verifiers.ts'
import { checkHeldOut, sourceOf } from '../run/prompt-source.ts'

interface Flags {
  checkpoint: string
  domain?: string
  seed?: number
  prompts?: number
  json?: true
}

export const register: Register = (program, context) => {
  program
    .command('eval')
    .description('Score a checkpoint of a run, from its weights, on the held-out prompts of every domain.')
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .option('--checkpoint <name>', 'latest, the name of a stage, or (the beginning of) an id', 'latest')
    .option('--domain <name>', 'this domain only')
    .option(
      '--seed <n>',
      'seed of the held-out prompts (default: the one that runs are scored with)',
      wholeNumber,
    )
    .option('--prompts <n>', "held-out prompts a domain (default: the run's)", atLeastOne)
    .option('--json', 'one JSON object: {run, checkpoint, stage, version, seed, scores}')
    .addHelpText('after', '\nExample:\n  $ cascade eval runs/first --checkpoint sft --json')
    .action((run: string | undefined, flags: Flags) =>
      withRun(context, run, (open) => evaluate(open, flags, context)),
    )
}

async function evaluate(open: OpenRun, flags: Flags, context: Context): Promise<void> {
  const { dir, manifest, log } = open
  const { stdout, stderr, signal } = context
  const { config } = manifest
  const checkpoint = await findCheckpoint(log, flags.checkpoint, signal)
  const source = await sourceOf(config, manifest.seed, { heldOutSeed: flags.seed })
  const domains = flags.domain === undefined ? source.domains : [flags.domain]
  for (const domain of domains) {
    if (source.domains.includes(domain)) continue
    const known = source.domains.join(', ')
    throw new CascadeError('USAGE', `--domain: expected one of ${known}, got ${domain}`)
  }
  if (flags.prompts !== undefined) {
    for (const domain of domains) checkHeldOut(source, domain, flags.prompts, '--prompts', 'USAGE')
  }
  await using engine = await engineOf(config, manifest.deterministic)
  const differs = compareProfile({ ...manifest, deterministic: false }, engine)
  if (differs !== undefined) stderr.write(`warning: ${differs}\n`)
  const versioned = versionedEngine(engine)
  await loadCheckpoint(versioned, new CheckpointStore(dir), checkpoint)
  await using verifiers = await openEvaluationVerifiers(source, domains, dir, manifest, context.env)
  const evaluator = localEvaluator({
    versioned,
    source,
    verifiers,
    ...config.evaluation,
    ...(flags.prompts === undefined ? {} : { prompts: flags.prompts }),
    clock,
    signal,
  })
  const scores: Evaluation[] = []
  for (const domain of domains) scores.push(await evaluator.evaluate(checkpoint, checkpoint.stage, domain))
  const text = flags.json ? json(manifest.runId, checkpoint, flags.seed, scores) : human(checkpoint, scores)
  await print(stdout, text, signal)
}

function json(run: string, checkpoint: Checkpoint, seed: number | undefined, scores: Evaluation[]): string {
  const { id, stage, version } = checkpoint
  const rows = scores.map(({ domain, score, interval, n, passed, truncated, responseLength }) => [
    domain,
    { score, interval, n, passed, truncated, responseLength },
  ])
  const object = { run, checkpoint: id, stage, version, seed: seed ?? 0, scores: Object.fromEntries(rows) }
  return `${JSON.stringify(object)}\n`
}

function human({ id, stage }: Checkpoint, scores: Evaluation[]): string {
  const right = (title: string) => ({ title, align: 'right' as const })
  const rows = scores.map((s) => [s.domain, percent(s.score), range(s.interval), `${s.passed}/${s.n}`])
  const lines = table([{ title: 'domain' }, right('score'), right('95 % interval'), right('passed')], rows)
  return `checkpoint ${id}, after ${stage}\n\n${lines.join('\n')}\n`
}

function atLeastOne(text: string): number {
  const n = wholeNumber(text)
  if (n === 0) throw new InvalidArgumentError('expected a whole number of at least 1.')
  return n
}

function wholeNumber(text: string): number {
  const n = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(n) || n < 0)
    throw new InvalidArgumentError('expected a whole number of at least 0.')
  return n
}
