import type { Engine } from './messages.ts'
import { ProcessPool } from './pool.ts'
import type { Execution, Program, Sandbox, SandboxLimits, Step, StepResult } from './sandbox.ts'

export interface CompilingOptions {
  readonly jobs: number
  readonly limits: SandboxLimits
  /** Whether strict TypeScript is compiled here as well, since the sandbox behind it knows JavaScript alone. */
  readonly strict: boolean
}

/**
 * Compiles TypeScript before a sandbox gets it, in supervised processes that are as shut in as the interpreters are: the compiler reads text
 * that nobody trusts. They are started by the first program that needs one.
 */
export class CompilingSandbox implements Sandbox {
  readonly #inner: Sandbox
  readonly #options: CompilingOptions
  #compilers: ProcessPool | undefined

  constructor(inner: Sandbox, options: CompilingOptions) {
    this.#inner = inner
    this.#options = options
  }

  async run(program: Program, signal: AbortSignal, began?: () => void): Promise<Execution> {
    if (program.language !== 'typescript' || !(this.#options.strict || program.syntax === 'recover')) {
      return this.#inner.run(program, signal, began)
    }
    this.#compilers ??= new ProcessPool({ ...this.#options, engineFor: compilerOf })
    const made = await this.#compilers.run(program, signal)
    if (made.end !== 'completed') return { ...made, stdout: '' }
    return this.#inner.run(compiled(program, made), signal, began)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#inner[Symbol.asyncDispose](), this.#compilers?.[Symbol.asyncDispose]()])
  }
}

function compilerOf(program: Program): Engine {
  return program.syntax === 'recover' ? 'compile-recover' : 'compile-strict'
}

/**
 * The source and its tests are one text by now; that there were tests still tells what a clean exit means. What a recovering compiler wrote is
 * run as node runs such a file: as the body of a function, in which a stray `return` is no error. Steps need its names, and get a script.
 */
function compiled(program: Program, made: Execution): Program {
  const { syntax, tests, ...rest } = program
  return {
    ...rest,
    language: 'javascript',
    source: syntax === 'recover' && program.steps.length === 0 ? asModule(made.stdout) : made.stdout,
    ...(tests === undefined ? {} : { tests: '' }),
    steps: program.steps.map((step, i) => compiledStep(step, made.steps[i]!)),
  }
}

function asModule(text: string): string {
  const names = 'exports, require, module, __filename, __dirname'
  return `(function (${names}) {${text}\n}).call(module.exports, ${names})`
}

function compiledStep(step: Step, result: StepResult): Step {
  if (step.kind === 'call') return step
  if (!result.ok)
    return { kind: 'exec', source: `throw new SyntaxError(${JSON.stringify(result.error.message)})` }
  return { kind: 'exec', source: result.value?.data ? String(result.value.value) : '' }
}
