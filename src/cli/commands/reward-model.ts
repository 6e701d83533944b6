import { mkdir, readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import {
  fitDefaults,
  freshModel,
  modelOfFolder,
  readRewardModel,
  rewardModelFiles,
  type StartModel,
  defaultShape as shape,
  type TrainedReward,
  trainRewardModel,
} from '../../model/reward/index.ts'
import { wilson } from '../../policy/wilson.ts'
import { heldOutPairs, trainingPairs } from '../../tasks/preference.ts'
import { writeFolder } from '../../write-folder.ts'
import type { Context, Register } from '../command.ts'
import { percent, range, rounded } from '../output/format.ts'
import { print } from '../output/print.ts'
import { reasonOf } from '../output/reason.ts'
import { longerIsBetter, readPairs, type SplitPairs, splitPairs } from '../reward-model/pairs.ts'
import { TrainingProgress } from '../reward-model/training-progress.ts'

interface Flags {
  out: string
  pairs?: string
  heldOut?: number
  init?: string
  steps: number
  batch: number
  lr: number
  centering: number
  seed: number
  layers?: number
  hidden?: number
  heads?: number
  maxLength?: number
  threads?: number
  json?: true
}

const shapeFlags = ['layers', 'hidden', 'heads', 'maxLength'] as const

/** Of the built-in set, at most; more steps see them again. */
const builtInPairs = 65_536

/** Held-out pairs of the built-in set, and the share of a file's prompts. */
const builtInHeldOut = 1024
const heldOutShare = 0.1

/** Steps between two lines of `--json`. */
const everySteps = 20

export const register: Register = (program, context) => {
  const command = program
    .command('reward-model')
    .description('Reward models: what the verifier `preference` judges with.')
    .addHelpText('after', '\nExample:\n  $ cascade reward-model train --out models/reward')
  command
    .command('train')
    .description(
      'Train a reward model on preference pairs (Bradley-Terry), and say how many held-out pairs it gets right.',
    )
    .requiredOption('--out <dir>', 'folder of the model, which must not exist yet')
    .option('--pairs <file>', 'JSON lines {prompt, chosen, rejected} (default: a built-in set, by seed)')
    .option(
      '--held-out <share>',
      `share of the prompts of --pairs that is held out (default: ${heldOutShare})`,
      share,
    )
    .option(
      '--init <dir>',
      'checkpoint to start from, of a reward model or a policy (default: fresh weights)',
    )
    .option('--steps <n>', 'optimiser steps', count, fitDefaults.steps)
    .option('--batch <n>', 'pairs a step', count, fitDefaults.batch)
    .option('--lr <rate>', 'highest learning rate', positive, fitDefaults.lr)
    .option(
      '--centering <x>',
      'weight of the term that keeps rewards around 0',
      notNegative,
      fitDefaults.centering,
    )
    .option('--seed <n>', 'of weights, order, and which pairs are held out', wholeNumber, 0)
    .option('--layers <n>', `layers of a fresh model (default: ${shape.layers})`, count)
    .option('--hidden <n>', `its width (default: ${shape.hidden})`, count)
    .option('--heads <n>', `its attention heads (default: ${shape.heads})`, count)
    .option('--max-length <n>', `tokens of prompt and response at most (default: ${shape.maxLength})`, count)
    .option('--threads <n>', 'threads of an operator (default: one a core)', count)
    .option('--json', 'JSON lines, by event: begin, step and result')
    .addHelpText(
      'after',
      '\nCtrl-C ends it without a model. The model is written at the end, whole or not at all.\n\nExample:\n  $ cascade reward-model train --out models/reward --seed 1\n  $ cascade verify preference --model models/reward --in cases.jsonl --out verdicts.jsonl',
    )
    .action((flags: Flags) => train(flags, context))
}

async function train(flags: Flags, context: Context): Promise<void> {
  const { signal, stdout, stderr, cwd } = context
  const out = resolve(cwd, flags.out)
  await checkFree(out, flags.out)
  const start = await startOf(flags, cwd)
  const { train: pairs, heldOut } = await pairsOf(flags, cwd, start.config.max_position_embeddings)
  const say = async (event: string, fields: object) => {
    if (flags.json) await print(stdout, `${JSON.stringify({ event, ...fields })}\n`, signal)
  }
  const { steps, batch, lr, centering, seed } = flags
  await say('begin', { pairs: pairs.length, heldOut: heldOut.length, steps, batch, lr, centering, seed })
  const progress = new TrainingProgress(stderr, steps)
  let told = Promise.resolve()
  const trained = await trainRewardModel(
    {
      start,
      pairs,
      heldOut,
      fit: { ...fitDefaults, steps, batch, lr, centering, seed, warmup: Math.min(fitDefaults.warmup, steps) },
      threads: flags.threads,
      onStep(step, result) {
        const state = progress.take(step, result)
        if (step % everySteps === 0 || step === steps) told = told.then(() => say('step', state))
      },
    },
    signal,
  ).finally(() => progress.close())
  await told
  const parent = dirname(out)
  const files = rewardModelFiles(trained.config, trained.weights)
  try {
    await mkdir(parent, { recursive: true })
    await writeFolder(out, join(parent, `.tmp-${basename(out)}-${process.pid}`), files)
  } catch (cause) {
    throw new CascadeError('USAGE', `--out: ${out}: cannot write the model: ${reasonOf(cause)}`, { cause })
  }
  const { hash } = await readRewardModel(out)
  const result = summary(flags, trained, heldOut)
  if (flags.json) await say('result', { out, hash, ...result })
  else await print(stdout, human(flags.out, result), signal)
}

type Summary = ReturnType<typeof summary>

function summary({ steps, batch, seed }: Flags, trained: TrainedReward, heldOut: SplitPairs['heldOut']) {
  const { pairs, right, margin } = trained.heldOut
  const accuracy = right / pairs
  const longer = longerIsBetter(heldOut)
  const seconds = trained.trainMs / 1000
  return {
    seed,
    heldOut: { pairs, right, accuracy, interval: wilson(accuracy, pairs), margin },
    baselines: { untrained: trained.untrained.right / pairs, longer, shorter: 1 - longer },
    seconds,
    pairsPerSecond: (steps * batch) / seconds,
  }
}

function human(out: string, { heldOut, baselines, seconds, pairsPerSecond }: Summary): string {
  const { accuracy, interval, pairs } = heldOut
  const { untrained, longer, shorter } = baselines
  return [
    `held-out ${percent(accuracy)} of ${pairs} pairs right (95 % interval ${range(interval)})`,
    `untrained ${percent(untrained)} · the longer one ${percent(longer)} · the shorter one ${percent(shorter)}`,
    `${out} · ${seconds.toFixed(1)} s · ${rounded(pairsPerSecond)} pairs/s`,
    '',
  ].join('\n')
}

/** @throws CascadeError USAGE where something is in the folder's place */
async function checkFree(path: string, named: string): Promise<void> {
  const got = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    if (error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (got?.length === 0) return
  const there = got === undefined ? 'a file' : `one with ${got.length} entries`
  throw new CascadeError('USAGE', `--out: expected a folder that does not exist yet, got ${named}, ${there}`)
}

async function startOf(flags: Flags, cwd: string): Promise<StartModel> {
  const given = shapeFlags.filter((name) => flags[name] !== undefined)
  if (flags.init !== undefined) {
    if (given.length === 0) return modelOfFolder(resolve(cwd, flags.init), flags.seed)
    const names = given.map((name) => `--${name.replace('maxLength', 'max-length')}`).join(', ')
    throw new CascadeError('USAGE', `${names}: expected none beside --init, which has a shape of its own`)
  }
  const own = Object.fromEntries(given.map((name) => [name, flags[name]]))
  try {
    return freshModel({ ...shape, ...own }, flags.seed)
  } catch (error) {
    if (!isCascadeError(error, 'MODEL_INVALID')) throw error
    throw new CascadeError('USAGE', `--${error.message}`, { cause: error })
  }
}

async function pairsOf(flags: Flags, cwd: string, maxLength: number): Promise<SplitPairs> {
  const { pairs: file, seed, heldOut = heldOutShare, steps, batch } = flags
  if (file !== undefined) {
    return splitPairs(await readPairs(resolve(cwd, file), maxLength), heldOut, seed, file)
  }
  if (flags.heldOut !== undefined) {
    throw new CascadeError('USAGE', '--held-out: expected only beside --pairs: the built-in set has its own')
  }
  const train = trainingPairs(seed, Math.min(steps * batch, builtInPairs))
  return { train, heldOut: heldOutPairs(seed, builtInHeldOut) }
}

function wholeNumber(text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a whole number of at least 0, got ${text}`)
}

function count(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a whole number above 0, got ${text}`)
}

function notNegative(text: string): number {
  const n = Number(text)
  if (text.trim() !== '' && Number.isFinite(n) && n >= 0) return n
  throw new InvalidArgumentError(`expected a number of at least 0, got ${text}`)
}

function positive(text: string): number {
  const n = notNegative(text)
  if (n > 0) return n
  throw new InvalidArgumentError(`expected a number above 0, got ${text}`)
}

function share(text: string): number {
  const n = positive(text)
  if (n < 1) return n
  throw new InvalidArgumentError(`expected a share between 0 and 1, got ${text}`)
}
