import { Fence } from '../../../streams/fence.ts'
import { follow } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { VerifierVersions } from '../../../streams/verifier-versions.ts'
import { CascadeError, control, type VerifierChange } from '../../../topics/index.ts'
import { verifiers as builtIn } from '../../verifiers/index.ts'

export interface VersionHistory {
  readonly versions: VerifierVersions
  readonly changes: readonly { change: VerifierChange; timestamp: number }[]
}

/** Every change to verifiers that a run has recorded, and what they come to. */
export async function versionHistory(log: TopicLog, signal: AbortSignal): Promise<VersionHistory> {
  const versions = new VerifierVersions()
  const fence = new Fence()
  const changes: { change: VerifierChange; timestamp: number }[] = []
  await follow(log, control, { from: 0, until: 'end', signal }, ({ value, timestamp }) => {
    if (!fence.admits(value) || value.type !== 'verifier') return
    versions.apply(value)
    changes.push({ change: value, timestamp })
  })
  return { versions, changes }
}

/** @throws CascadeError USAGE for a name that no verifier has */
export function checkName(name: string): void {
  if (Object.hasOwn(builtIn, name)) return
  throw new CascadeError('USAGE', `verifier: expected one of ${Object.keys(builtIn).join(', ')}, got ${name}`)
}

/** The one verifier that an action can mean. @throws CascadeError USAGE where it is none, or more than one */
export function meant(
  { versions }: VersionHistory,
  action: 'promote' | 'rollback' | 'withdraw' | 'diff',
  named: string | undefined,
): string {
  if (named !== undefined) {
    checkName(named)
    return named
  }
  const possible = versions.names.filter((name) => {
    const { active, staged } = versions.of(name)
    return action === 'rollback' ? active.length > 0 : staged !== undefined
  })
  const [only, ...others] = possible
  if (only !== undefined && others.length === 0) return only
  const what = action === 'rollback' ? 'a promoted version' : 'a staged version'
  const got = only === undefined ? 'none' : possible.join(', ')
  throw new CascadeError('USAGE', `--verifier: expected the name of one with ${what}, got ${got}`)
}
