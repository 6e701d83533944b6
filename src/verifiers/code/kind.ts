import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError, isCascadeError } from '../../../topics/index.ts'
import type { CaseJudge, CaseKind, KindOptions } from '../case-kind.ts'
import { openSandbox, type Sandbox } from '../sandbox/index.ts'
import { type CodeCase, codeCase } from './case.ts'
import { type Failure, failuresOf } from './outcome.ts'
import { plan } from './plan.ts'

/**
 * Runs a program against its tests in a sandbox: 1 where all pass, else 0; with the flag `partial`, the share that pass. What the
 * program does to itself (an endless loop, too much memory or output) is judged; what fails in the sandbox is `failed`, to be tried
 * again. The flag `sandbox` says which: `wasm` where left out, `bubblewrap`, or `piston` or `sandboxfusion` at `sandboxUrl`.
 */
export const codeKind: CaseKind<CodeCase> = {
  name: 'code',
  version: '1',
  schema: codeCase,
  work: 'pooled',
  open: openCodeJudge,
}

async function openCodeJudge(options: KindOptions): Promise<CaseJudge<CodeCase>> {
  const { partial = false, sandbox = 'wasm', sandboxUrl: url } = options.flags
  if (typeof partial !== 'boolean') {
    throw new CascadeError('CONFIG_INVALID', `partial: expected true or false, got ${String(partial)}`)
  }
  if (url !== undefined && typeof url !== 'string') {
    throw new CascadeError('CONFIG_INVALID', `sandbox-url: expected an address, got ${JSON.stringify(url)}`)
  }
  return new CodeJudge(openSandbox(sandbox, { jobs: options.jobs, ...(url ? { url } : {}) }), partial)
}

export class CodeJudge implements CaseJudge<CodeCase> {
  readonly #sandbox: Sandbox
  readonly #partial: boolean

  constructor(sandbox: Sandbox, partial: boolean) {
    this.#sandbox = sandbox
    this.#partial = partial
  }

  async judge(given: CodeCase, signal: AbortSignal, began?: () => void): Promise<Verdict> {
    if (given.code.trim() === '') return { outcome: 'unparsable', score: 0, detail: { reason: 'empty' } }
    const failures: Failure[] = []
    let runs = 0
    const first = () => runs++ === 0 && began?.()
    try {
      for (const { program, tests } of plan(given, this.#partial)) {
        failures.push(...failuresOf(given.tests, tests, await this.#sandbox.run(program, signal, first)))
        if (failures.length > 0 && !this.#partial) break
      }
    } catch (error) {
      signal.throwIfAborted()
      return {
        outcome: 'failed',
        code: isCascadeError(error) ? error.code : 'VERIFIER_FAILED',
        message: `verifier code: case ${given.id}: ${error instanceof Error ? error.message : String(error)}`,
        retryable: isCascadeError(error) ? error.retryable : false,
      }
    }
    return verdictOf(given, failures, this.#partial)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#sandbox[Symbol.asyncDispose]()
  }
}

function verdictOf(given: CodeCase, failures: readonly Failure[], partial: boolean): Verdict {
  const tests = given.tests.length
  const [first] = [...failures].sort((a, b) => a.test - b.test)
  if (!first) return { outcome: 'score', score: 1, detail: { tests } }
  const score = partial ? (tests - failures.length) / tests : 0
  return {
    outcome: 'score',
    score,
    detail: {
      tests,
      reason: first.reason,
      failed: first,
      ...(partial ? { passed: tests - failures.length } : {}),
    },
  }
}
