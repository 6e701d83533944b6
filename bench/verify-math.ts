import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { math } from '../src/verifiers/math/index.ts'
import { type Figure, median } from './figure.ts'
import { runPeer } from './peers/python.ts'

export const summary = 'answers of five forms judged against golds, each pair once: against Math-Verify'

type Pair = readonly [gold: string, answer: string]

/** Distinct pairs, so that no cache serves; every third is wrong. */
const forms: Readonly<Record<string, (i: number) => Pair>> = {
  number: (i) => [`$${i + 5}$`, `$${i + 5 + wrong(i)}$`],
  boxed: (i) => [`$${i + 42}$`, `So the answer is $\\boxed{${i + 42 + wrong(i)}}$.`],
  solution: (i) => [
    `$${i + 7}$`,
    `She has ${i} and buys 7 more, which makes ${i + 7}. The answer is $${i + 7 + wrong(i)}$.`,
  ],
  fraction: (i) => [`$\\frac{${2 * i + 1}}{4}$`, `$${((2 * i + 1 + 2 * wrong(i)) / 4).toFixed(2)}$`],
  symbolic: (i) => [`$x^2+${2 * i + 2}x+${(i + 1) ** 2}$`, `$(x+${i + 1 + wrong(i)})^2$`],
}
const wrong = (i: number): number => (i % 3 === 2 ? 1 : 0)

/**
 * Pairs a second, parsing included, in one process each. Interleaved, the median of the rounds; `agree/FORM` counts equal
 * verdicts of all, its ratio their share. `PEERS_PYTHON` names a Python with `pip install math-verify==0.9.0`.
 */
export async function* run(count = 500, rounds = 3): AsyncGenerator<Figure> {
  for (const [form, make] of Object.entries(forms)) {
    const began = performance.now()
    const rates = { ours: [] as number[], peer: [] as number[] }
    let same = 0
    for (let round = 0; round < rounds; round++) {
      const pairs = Array.from({ length: count }, (_, i) => make(round * count + i))
      const theirs = await peer(pairs)
      const mine = ours(pairs)
      rates.peer.push(count / theirs.seconds)
      rates.ours.push(count / mine.seconds)
      same += mine.verdicts.filter((verdict, i) => verdict === theirs.verdicts[i]).length
    }
    const seconds = (performance.now() - began) / 1000
    const [a, b] = [Math.round(median(rates.ours)), Math.round(median(rates.peer))]
    const common = { bench: 'verify-math', seconds }
    yield {
      ...common,
      figure: `${form}/math-verify`,
      ours: a,
      peer: b,
      ratio: round2(a / b),
      unit: 'pairs/s',
    }
    const [share, all] = [same, count * rounds]
    yield { ...common, figure: `agree/${form}`, ours: share, peer: all, ratio: share / all, unit: 'verdicts' }
  }
}

const round2 = (x: number): number => Number(x.toFixed(2))

function ours(pairs: readonly Pair[]): { seconds: number; verdicts: boolean[] } {
  const verifier = math()
  const began = performance.now()
  const verdicts = pairs.map(([gold, answer]) => {
    const verdict = verifier.judge(answer, gold)
    return verdict.outcome === 'score' && verdict.score === 1
  })
  return { seconds: (performance.now() - began) / 1000, verdicts }
}

async function peer(pairs: readonly Pair[]): Promise<{ seconds: number; verdicts: boolean[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'verify-math-'))
  try {
    const file = join(folder, 'pairs.json')
    await writeFile(file, JSON.stringify(pairs))
    const stdout = await runPeer('math_verify_pairs.py', [file], ['math-verify==0.9.0'])
    return z.object({ seconds: z.number(), verdicts: z.array(z.boolean()) }).parse(JSON.parse(stdout))
  } finally {
    await rm(folder, { recursive: true })
  }
}
