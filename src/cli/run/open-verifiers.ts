import { availableParallelism } from 'node:os'
import type { TopicLog } from '../../../streams/ports.ts'
import { verifiers as builtIn } from '../../verifiers/index.ts'
import { builtInVerifiers, preflightBuiltIn } from '../../verifiers/registry.ts'
import { RunVerifiers } from '../../verifiers/swap/run-verifiers.ts'
import type { CascadeConfig } from '../config.ts'

/**
 * The verifiers of a run, as its config and its log have them, the built-in ones tried on their samples.
 *
 * @throws CascadeError VERIFIER_FAILED
 */
export async function openRunVerifiers(
  log: TopicLog,
  dir: string,
  { verify }: Pick<CascadeConfig, 'verify'>,
  signal: AbortSignal,
): Promise<RunVerifiers> {
  const size = Math.min(verify.concurrency, availableParallelism())
  const limits = { wallMs: verify.timeoutMs }
  for (const name of Object.keys(builtIn)) preflightBuiltIn(name)
  return RunVerifiers.open({ log, dir, builtIn: builtInVerifiers(), size, limits }, signal)
}
