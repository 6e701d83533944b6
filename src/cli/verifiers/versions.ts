import { Fence } from '../../../streams/fence.ts'
import { follow } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { VerifierVersions } from '../../../streams/verifier-versions.ts'
import { CascadeError, control, type VerifierChange } from '../../../topics/index.ts'
import { verifiers as rules } from '../../verifiers/index.ts'
import type { CascadeConfig } from '../config.ts'
import { usedVerifiers } from '../run/used-verifiers.ts'

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

/** Names that prompts of a run may carry: built-in rules, and what its stages use. Parts of a composite are not swapped. */
export function verifierNames(config: Pick<CascadeConfig, 'stages'>): string[] {
  return [...new Set([...Object.keys(rules), ...usedVerifiers(config)])].sort()
}

/** @throws CascadeError USAGE for a name that no verifier has */
export function checkName(name: string, config: Pick<CascadeConfig, 'stages'>): void {
  const names = verifierNames(config)
  if (names.includes(name)) return
  throw new CascadeError('USAGE', `verifier: expected one of ${names.join(', ')}, got ${name}`)
}

/** The one verifier that an action can mean. @throws CascadeError USAGE where it is none, or more than one */
export function meant(
  { versions }: VersionHistory,
  action: 'promote' | 'rollback' | 'withdraw' | 'diff',
  named: string | undefined,
  config: Pick<CascadeConfig, 'stages'>,
): string {
  if (named !== undefined) {
    checkName(named, config)
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
