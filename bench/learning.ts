import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { laptop } from '../src/cli/default-config.ts'
import type { Figure } from './figure.ts'
import { controlArms } from './learning/arms.ts'
import { lookup } from './learning/lookup.ts'
import { train } from './learning/train.ts'

export const summary =
  'does each RL stage lift its own held-out accuracy, and only because of the rewards? Percent after, against before'

/** Seeds of the whole cascade and of the arm with permuted rewards; the other arms vary little and take the first ones. */
const seeds = list(process.env.LEARNING_SEEDS ?? '1,2,3,4,5')
const seedsOfOthers = Number(process.env.LEARNING_OTHERS ?? 2)

/** Two halves of the seeds run side by side on two cores with one thread each, in half of the time. */
const threads = process.env.LEARNING_THREADS
const config = threads ? { ...laptop, engine: { threads: Number(threads) } } : laptop

/**
 * One whole cascade a seed, with the config that `npm start` runs, then its control arms: each RL stage again from the same
 * weights, with the same prompts and steps.
 */
export async function* run(): AsyncGenerator<Figure> {
  const folder = process.env.LEARNING_DIR ?? (await mkdtemp(join(tmpdir(), 'cascade-learning-')))
  for (const domain of ['instruction', 'math']) {
    const begun = Date.now()
    yield figure(`nearest training prompt/${domain}`, lookup(domain), 0, begun)
  }
  for (const [n, seed] of seeds.entries()) {
    const begun = Date.now()
    const whole = await train(config, seed, join(folder, `seed-${seed}`))
    for (const stage of whole.report.stages) {
      yield figure(`seed ${seed}/${stage.name}/as it is`, stage.after, stage.before, begun)
    }
    for (const arm of controlArms(config, whole)) {
      if (arm.name !== 'rewards permuted' && n >= seedsOfOthers) continue
      const armBegun = Date.now()
      const dir = join(folder, `seed-${seed}-${arm.stage}-${arm.name.replaceAll(' ', '-')}`)
      const { report } = await train(arm.config, seed, dir)
      const before = report.matrix.start?.[arm.domain]
      const after = report.matrix[arm.stage]?.[arm.domain]
      yield figure(`seed ${seed}/${arm.stage}/${arm.name}`, after, before, armBegun)
    }
  }
}

function figure(name: string, after: unknown, before: unknown, begun: number): Figure {
  const percent = (score: unknown) => {
    if (typeof score !== 'number') throw new Error(`${name}: expected a score, got ${score}`)
    return Math.round(1000 * score) / 10
  }
  const [ours, peer] = [percent(after), percent(before)]
  const seconds = (Date.now() - begun) / 1000
  const ratio = peer === 0 ? 0 : Math.round((100 * ours) / peer) / 100
  return { bench: 'learning', figure: name, ours, peer, ratio, unit: '% of 256 held-out', seconds }
}

function list(text: string): number[] {
  return text.split(',').map(Number)
}
