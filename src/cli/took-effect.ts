import { follow } from '../../streams/follow.ts'
import type { Envelope } from '../../streams/ports.ts'
import { CascadeError, type Control, control } from '../../topics/index.ts'
import { type OpenRun, runningProcess } from './open-run.ts'

/** @throws `RUN_NOT_RUNNING` where no process could obey a command */
export async function refuseIdle(dir: string): Promise<void> {
  if ((await runningProcess(dir)) !== undefined) return
  throw new CascadeError(
    'RUN_NOT_RUNNING',
    `${dir}: expected a run that is going on, got one that no process writes`,
  )
}

/** The control record that carries a submitted command. @throws `CONTROL_TIMEOUT`; the signal's reason */
export async function tookEffect(
  { dir, log }: OpenRun,
  from: number,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
  otherwise = 'it stays submitted and takes effect as soon as the run gets to it',
): Promise<Envelope<Control>> {
  const found = new AbortController()
  const late = AbortSignal.timeout(Math.ceil(timeoutMs))
  let record: Envelope<Control> | undefined
  try {
    const seen = (given: Envelope<Control>) => {
      const { value } = given
      const answers = value.type === 'command' || value.type === 'verifier' || value.type === 'set'
      if (!answers || value.id !== id) return
      record = given
      found.abort()
    }
    await follow(log, control, { from, signal: AbortSignal.any([signal, late, found.signal]) }, seen)
  } catch (error) {
    if (record !== undefined) return record
    if (!late.aborted || signal.aborted) throw error
  }
  throw new CascadeError(
    'CONTROL_TIMEOUT',
    `${dir}: expected the command to take effect within ${timeoutMs / 1000} s, got no word of it; ${otherwise}`,
  )
}
