import { createRequire } from 'node:module'
import type { EngineInstance } from '../messages.ts'
import type { Execution, Program } from '../sandbox.ts'
import { stripTypes } from './typescript.ts'

type TypeScript = typeof import('@ts-morph/common').ts

/**
 * Compiles TypeScript and runs nothing: the text of the whole program comes back as its output, that of each step as the step's value.
 * Of steps, those that are no TypeScript fail alone.
 */
export function openCompiler(recover: boolean): EngineInstance {
  const compile = recover ? recovering() : stripTypes
  let broken = false
  const attempt = (source: string): { text: string } | { error: { name: string; message: string } } => {
    try {
      return { text: compile(source) }
    } catch (error) {
      // Deep nesting ends either compiler in the middle of its work: what it keeps between calls is not to be trusted any more.
      if (error instanceof RangeError) broken = true
      return { error: { name: 'SyntaxError', message: (error as Error).message } }
    }
  }
  return {
    run(program: Program): Execution {
      const { source, tests } = program
      const whole = attempt(tests === undefined ? source : `${source}\n${tests}`)
      if ('error' in whole) return { end: 'compile', error: whole.error, steps: [], stdout: '' }
      const steps = program.steps.map((step) => {
        if (step.kind === 'call') return { ok: true as const }
        const made = attempt(step.source)
        return 'error' in made
          ? { ok: false as const, error: made.error }
          : { ok: true as const, value: { data: true as const, value: made.text } }
      })
      return { end: 'completed', steps, stdout: whole.text }
    },
    restore: () => !broken,
  }
}

/**
 * TypeScript 5 as `ts.transpileModule` runs it: types are not checked, syntax errors are passed over and the tree that was made of them is written
 * out. A package of its own, since the `typescript` package of version 5 would take the name `tsc` from newer ones.
 */
function recovering(): (source: string) => string {
  const ts = createRequire(import.meta.url)('@ts-morph/common/dist/typescript.js') as TypeScript
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 }
  return (source) => ts.transpileModule(source, { compilerOptions }).outputText
}
