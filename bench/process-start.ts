import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child } from '../src/verifiers/pool/child-process.ts'
import { type Figure, median } from './figure.ts'

export const summary =
  'starts of a process that judges and of the command line, with what Node compiled kept against not kept; and of a fork from a large process against a small one'

const idle = new URL('./workloads/idle-judge.ts', import.meta.url)
const program = new URL('../bin/cascade.js', import.meta.url).pathname
/** Megabytes that a run holds after a while. */
const largeMb = 600

/** Medians over interleaved rounds. Not kept: a judge finds an empty folder at every start, the command line has no cache at all. */
export async function* run(rounds = 15): AsyncGenerator<Figure> {
  const kept = mkdtempSync(join(tmpdir(), 'cascade-bench-'))
  const inherited = process.env.NODE_COMPILE_CACHE
  try {
    yield await compared('processor time of a start of a judge, kept/not kept', rounds, kept, judgeStart)
    yield await compared('command line, --version, kept/not kept', rounds, kept, commandStart)
    yield await forks(rounds)
  } finally {
    if (inherited === undefined) delete process.env.NODE_COMPILE_CACHE
    else process.env.NODE_COMPILE_CACHE = inherited
    rmSync(kept, { recursive: true, force: true })
  }
}

async function compared(
  figure: string,
  rounds: number,
  kept: string,
  start: () => Promise<number> | number,
): Promise<Figure> {
  const began = performance.now()
  const within = async (folder: string) => {
    process.env.NODE_COMPILE_CACHE = folder
    return start()
  }
  await within(kept)
  const [ours, peer]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    ours.push(await within(kept))
    const fresh = mkdtempSync(join(tmpdir(), 'cascade-bench-'))
    process.env.NODE_DISABLE_COMPILE_CACHE = '1'
    peer.push(await within(fresh))
    delete process.env.NODE_DISABLE_COMPILE_CACHE
    rmSync(fresh, { recursive: true, force: true })
  }
  return figureOf(figure, median(ours), median(peer), began)
}

/** Processor milliseconds until it is ready, in steps of 10. */
function judgeStart(): Promise<number> {
  return new Promise((resolve) => {
    let used = 0
    const child: Child = new Child({ module: idle.href, name: 'idle' }, 200, 65_536, {
      opened: () => {
        const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ')
        used = (Number(fields[13]) + Number(fields[14])) * 10
        // It writes what it compiled just after it is ready.
        setTimeout(() => child.kill('measured'), 100)
      },
      verdicts: () => undefined,
      began: () => undefined,
      ended: () => resolve(used),
    })
  })
}

function commandStart(): number {
  const began = performance.now()
  execFileSync(process.execPath, [program, '--version'])
  return performance.now() - began
}

/** Milliseconds that `fork` holds up the thread that calls it. */
async function forks(rounds: number): Promise<Figure> {
  const began = performance.now()
  const small = await forkMs(rounds)
  const held = Array.from({ length: largeMb / 10 }, () => Buffer.alloc(10e6, 1))
  const large = await forkMs(rounds)
  held.length = 0
  return figureOf(`fork from a process with ${largeMb} MB more/without`, large, small, began)
}

async function forkMs(rounds: number): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < rounds; i++) {
    const began = performance.now()
    const child = fork(idle, { stdio: 'ignore' })
    took.push(performance.now() - began)
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  return median(took)
}

function figureOf(figure: string, ours: number, peer: number, began: number): Figure {
  return {
    bench: 'process-start',
    figure,
    ours: Number(ours.toFixed(1)),
    peer: Number(peer.toFixed(1)),
    ratio: Number((peer / ours).toFixed(2)),
    unit: 'ms',
    seconds: (performance.now() - began) / 1000,
  }
}
