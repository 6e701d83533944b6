import { z } from 'zod'
import { javascriptModules } from '../sandbox/index.ts'

const name = z
  .string()
  .max(200)
  .regex(
    /^[\p{L}_$][\p{L}\p{N}_$]*(\.[\p{L}_$][\p{L}\p{N}_$]*)*$/u,
    'expected a name, or names joined by dots',
  )

/** One check of a program. */
export const codeTest = z.union([
  /** Statements that raise where the program is wrong. They run after the code, in its namespace. */
  z.strictObject({ assert: z.string() }),
  /** A run of the code with this input must print this; blanks at the ends of lines and of the whole do not count. */
  z.strictObject({ stdin: z.string(), stdout: z.string() }),
  /** A call must return data equal to `expected`; a tuple is a list. Compared outside the sandbox. */
  z.strictObject({ call: name, args: z.array(z.json()), expected: z.json() }),
  /** The text is appended to the code on a line of its own, and the whole must run to its end. */
  z.strictObject({ program: z.string() }),
])
export type CodeTest = z.infer<typeof codeTest>

/** A program and what it must do. */
export const codeCase = z.strictObject({
  id: z.string(),
  language: z.enum(['python', 'javascript', 'typescript']),
  /** TypeScript alone: whether a syntax error is a failure, or the program runs as a recovering compiler writes it. Strict where left out. */
  syntax: z.enum(['strict', 'recover']).optional(),
  code: z.string(),
  tests: z.array(codeTest).min(1),
  /** What `require` may give; all that are brought along where this is left out. Of no use to Python. */
  modules: z.array(z.enum(javascriptModules)).optional(),
  /** Wall time of one run: the code with all its `assert` and `call` tests, or with one `stdin` or `program` test. */
  timeoutMs: z.int().min(1).max(3_600_000),
})
export type CodeCase = z.infer<typeof codeCase>

export function kindOf(test: CodeTest): 'assert' | 'stdin' | 'call' | 'program' {
  if ('assert' in test) return 'assert'
  if ('stdin' in test) return 'stdin'
  return 'call' in test ? 'call' : 'program'
}
