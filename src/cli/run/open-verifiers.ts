import { availableParallelism } from 'node:os'
import type { TopicLog } from '../../../streams/ports.ts'
import { builtInVerifiers } from '../../verifiers/registry.ts'
import { RunVerifiers } from '../../verifiers/swap/run-verifiers.ts'
import type { CascadeConfig } from '../config.ts'

/** The verifiers of a run, as its config and its log have them. @throws CascadeError VERIFIER_FAILED */
export function openRunVerifiers(
  log: TopicLog,
  dir: string,
  { verify }: Pick<CascadeConfig, 'verify'>,
  signal: AbortSignal,
): Promise<RunVerifiers> {
  const size = Math.min(verify.concurrency, availableParallelism())
  const limits = { wallMs: verify.timeoutMs }
  return RunVerifiers.open({ log, dir, builtIn: builtInVerifiers(), size, limits }, signal)
}
