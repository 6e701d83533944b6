import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readCases, scoreCases, type VerdictLine } from '../src/cli/verify/score-file.ts'
import { openCaseJudge } from '../src/verifiers/case-judge.ts'
import { kindNamed } from '../src/verifiers/kinds.ts'
import type { Figure } from './figure.ts'
import { type Class, classes } from './rescore-math/forms.ts'
import { type Pair, pairs } from './rescore-math/pairs.ts'
import { MathVerify } from './rescore-math/peer.ts'

export const summary =
  '100,000 distinct stored pairs scored anew by two processes: against Math-Verify by two'

/** Where the pairs, our verdicts and the differences are kept. */
const folder = join(import.meta.dirname, '../.cache/rescore-math')

/** As `cascade verify` has it: cases under way for each process. */
const ahead = 128

interface Tally {
  pairs: number
  ours: number
  peer: number
  same: number
  oursRight: number
  peerRight: number
}

/**
 * Pairs a second by class, reading included, and how many verdicts are equal. The pairs are written to a file first; then blocks of one
 * class take turns, and so do the sides: ours as `cascade verify math --jobs 2` does it, its verdicts written as well, and Math-Verify in a
 * pool of as many processes. Both have started before the first block and have seen none of the pairs. What differs is in
 * `.cache/rescore-math/differences.jsonl`, and counted by form on standard error. Math-Verify's own time-outs are off, since they cost it a
 * tenth of its rate. `RESCORE_PAIRS` and `RESCORE_TIMEOUT` (in seconds, 0 for none) change the defaults; `PEERS_PYTHON` names a Python with `pip install math-verify==0.9.0`.
 */
export async function* run(
  count = Number(process.env.RESCORE_PAIRS ?? 100_000),
  timeout = Number(process.env.RESCORE_TIMEOUT ?? 0),
  processes = 2,
  block = 1_000,
): AsyncGenerator<Figure> {
  const began = performance.now()
  await mkdir(folder, { recursive: true })
  const all = [...pairs(count, block)]
  const stored = join(folder, 'pairs.jsonl')
  await writeFile(
    stored,
    all.map(({ id, response, answer }) => `${JSON.stringify({ id, response, answer })}\n`).join(''),
  )
  const tallies = new Map<Class, Tally>()
  const differences: object[] = []
  {
    const entry = kindNamed('math')
    const limits = { wallMs: 10_000, memoryMb: 1_024 }
    await using judge = await openCaseJudge(entry, { flags: {}, jobs: processes, limits })
    await using peer = new MathVerify(processes, timeout)
    await peer.judge([])
    const written = createWriteStream(join(folder, 'verdicts.jsonl'))
    const cases = readCases(stored)
    const signal = new AbortController().signal
    const options = { window: processes * ahead, signal, name: 'math', version: (await entry.load()).version }
    const ours = async (size: number) => {
      const start = performance.now()
      const lines: VerdictLine[] = []
      for await (const line of scoreCases(first(cases, size), judge.submit, options)) {
        lines.push(line)
        written.write(`${JSON.stringify(line)}\n`)
      }
      return { lines, seconds: (performance.now() - start) / 1000 }
    }
    for (let at = 0, turn = 0; at < all.length; at += block, turn++) {
      const given = all.slice(at, at + block)
      // Who begins alternates.
      const early = turn % 2 === 0 ? await ours(given.length) : undefined
      const theirs = await peer.judge(given)
      const mine = early ?? (await ours(given.length))
      const name = given[0]!.class
      const tally = tallies.get(name) ?? { pairs: 0, ours: 0, peer: 0, same: 0, oursRight: 0, peerRight: 0 }
      tallies.set(name, tally)
      tally.pairs += given.length
      tally.ours += mine.seconds
      tally.peer += theirs.seconds
      for (const [i, pair] of given.entries()) {
        const line = mine.lines[i]!
        const own = line.outcome === 'error' ? undefined : line.score === 1
        const other = theirs.verdicts[i]!
        if (own === pair.right) tally.oursRight += 1
        if (other === pair.right) tally.peerRight += 1
        if (own === other) tally.same += 1
        else differences.push(difference(pair, line, other))
      }
    }
    await new Promise((resolve) => written.end(resolve))
  }
  const text = differences.map((one) => `${JSON.stringify(one)}\n`).join('')
  await writeFile(join(folder, 'differences.jsonl'), text)
  process.stderr.write(report(differences as Difference[]))
  yield* figures(tallies, (performance.now() - began) / 1000)
}

interface Difference {
  class: Class
  form: string
  right: 'ours' | 'math-verify'
}

/** Who is right is known: the pair was made to be right or wrong. */
function difference(pair: Pair, line: VerdictLine, peer: boolean): Difference & Record<string, unknown> {
  const own = line.outcome === 'error' ? 'error' : line.score === 1
  const { id, form, answer, response } = pair
  const right = own === pair.right ? 'ours' : 'math-verify'
  return {
    id,
    class: pair.class,
    form,
    right,
    made: pair.right,
    ours: own,
    peer,
    answer,
    response,
    detail: line.detail,
  }
}

function report(differences: readonly Difference[]): string {
  const counts = new Map<string, number>()
  for (const { class: name, form, right } of differences) {
    const key = `${name}, ${form}: ${right} right`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, n]) => `${String(n).padStart(6)}  ${key}\n`)
    .join('')
}

function* figures(tallies: ReadonlyMap<Class, Tally>, seconds: number): Generator<Figure> {
  const common = { bench: 'rescore-math', seconds }
  const sum = { pairs: 0, same: 0 }
  for (const name of classes) {
    const tally = tallies.get(name)
    if (!tally) continue
    const { pairs: n, same, oursRight, peerRight } = tally
    sum.pairs += n
    sum.same += same
    const [a, b] = [Math.round(n / tally.ours), Math.round(n / tally.peer)]
    const rate = { ours: a, peer: b, ratio: Number((a / b).toFixed(2)), unit: 'pairs/s' }
    yield { ...common, figure: `${name}/math-verify`, ...rate }
    const agreement = { ours: same, peer: n, ratio: same / n, unit: 'equal verdicts' }
    yield { ...common, figure: `agree/${name}`, ...agreement }
    const made = { ours: oursRight, peer: peerRight, ratio: oursRight / peerRight, unit: `right of ${n}` }
    yield { ...common, figure: `right/${name}`, ...made }
  }
  const { pairs: n, same } = sum
  yield { ...common, figure: 'agree/all', ours: same, peer: n, ratio: same / n, unit: 'equal verdicts' }
}

/** The next so many; the source stays open for those after them. */
async function* first<T>(source: AsyncIterator<T>, count: number): AsyncGenerator<T> {
  for (let i = 0; i < count; i++) {
    const { value, done } = await source.next()
    if (done) return
    yield value
  }
}
