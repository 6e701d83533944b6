import { z } from 'zod'
import { CascadeError } from '../../../topics/errors.ts'
import type { Environment } from './environment.ts'
import type { WriteGate } from './gate.ts'
import { processStart } from './process-identity.ts'

const ownerSchema = z.object({ pid: z.int(), started: z.string() })
const key = Buffer.from('writer')

/**
 * Makes this process the folder's one appender and returns its epoch. The claim is a row of the database
 * itself, read and written inside one write transaction, so two processes cannot both find it stale.
 *
 * @throws `RUN_LOCKED` naming process and folder.
 */
export async function claimWriter(environment: Environment): Promise<number> {
  const { writer, path } = environment
  const started = processStart(process.pid) ?? 'unknown'
  const claim = () =>
    writer.transactionSync(() => {
      const living = livingWriter(environment)
      if (living) {
        const { pid } = living
        throw new CascadeError(
          'RUN_LOCKED',
          `${path}: expected no other process to append, got process ${pid}`,
          {
            context: { pid, dir: path },
          },
        )
      }
      const epoch = (writer.getEntry(key)?.version ?? 0) + 1
      writer.putSync(key, Buffer.from(JSON.stringify({ pid: process.pid, started })), epoch)
      return epoch
    })
  return gateOf(environment).hold(claim)
}

/** A process that appends, and the epoch of its opening. */
export interface LivingWriter {
  readonly pid: number
  readonly epoch: number
}

/** The process that holds the claim and lives; a process id given out again is another process. @throws `LOG_CORRUPT` */
export function livingWriter({ writer, path }: Environment): LivingWriter | undefined {
  const entry = writer.getEntry(key)
  if (!entry || entry.value.length === 0) return undefined
  const { value: claim, version: epoch = 0 } = entry
  const owner = ownerSchema.safeParse(parsed(claim))
  if (!owner.success) {
    throw new CascadeError(
      'LOG_CORRUPT',
      `${path}: expected the claim of a process, got ${claim.length} damaged bytes`,
    )
  }
  const { pid, started } = owner.data
  return processStart(pid) === started ? { pid, epoch } : undefined
}

function parsed(claim: Buffer): unknown {
  try {
    return JSON.parse(claim.toString())
  } catch {
    // The schema refuses it.
    return undefined
  }
}

/**
 * Runs the writes of `write` in one transaction, unless another process has claimed the folder since `epoch`.
 * Resolves when they are durable; false where nothing was written because the epoch is past.
 */
export function fenced(environment: Environment, epoch: number, write: () => void): Promise<boolean> {
  return gateOf(environment).hold(() => environment.writer.ifVersion(key, epoch, write))
}

function gateOf({ gate, path }: Environment): WriteGate {
  if (gate) return gate
  throw new CascadeError(
    'LOG_READ_ONLY',
    `${path}: expected a database opened for appending, got one for reading`,
  )
}

/** Gives the claim up; the epoch stays. */
export async function releaseWriter(environment: Environment, epoch: number): Promise<void> {
  const { writer, space } = environment
  await space.reserve(0)
  await fenced(environment, epoch, () => {
    void writer.put(key, Buffer.alloc(0), epoch)
  })
}
