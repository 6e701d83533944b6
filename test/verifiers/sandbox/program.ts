import { javascriptModules, type Program } from '../../../src/verifiers/sandbox/index.ts'

/** A program with nothing but its text, and what a test changes about it. */
export function program(language: Program['language'], source: string, rest: Partial<Program> = {}): Program {
  return {
    language,
    source,
    steps: [],
    stdin: '',
    modules: javascriptModules,
    timeoutMs: 5000,
    stopAtFailure: true,
    ...rest,
  }
}
