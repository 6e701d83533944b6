import { createHash } from 'node:crypto'
import type { GroupOutcome } from '../topics/index.ts'

/** The id of a group: the hash of run, stage and admission index, so that a second visit of a prompt is another group. */
export function groupId(run: string, stage: string, admission: number): string {
  return createHash('sha256').update(`${run}\n${stage}\n${admission}`).digest('hex').slice(0, 24)
}

/** What `batch-closed` says of a group: sha256 over the hashes of its rollouts and its rewards, in sample order. */
export function hashOutcome(outcome: GroupOutcome): string {
  const hash = createHash('sha256')
  for (const m of outcome.members)
    hash.update(`${m.rolloutHash}:${m.reward ?? m.fate}:${m.advantage ?? ''}\n`)
  return hash.digest('hex')
}
