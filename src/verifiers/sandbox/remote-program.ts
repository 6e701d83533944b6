import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { javascriptDriver, pythonDriver } from './native-drivers.ts'
import type { Program, SandboxLimits } from './sandbox.ts'
import { callText as javascriptCall } from './worker/javascript-literal.ts'
import { callExpression as pythonCall, pythonLiteral } from './worker/python-literal.ts'

/** A program as files that a server elsewhere can run. */
export interface RemoteProgram {
  readonly engine: 'python' | 'javascript'
  readonly main: string
  /** Beside the main file, by name. */
  readonly files: Readonly<Record<string, string>>
  readonly stdin: string
  readonly timeoutMs: number
}

/**
 * Puts a program into the text of its driver. `mark` begins each line of the report, which goes to standard error among what the program
 * writes there: nothing else comes back from such a server. The memory limit is set from inside, since servers differ in what they take.
 */
export function remoteProgram(program: Program, mark: string, limits: SandboxLimits): RemoteProgram {
  const engine = program.language === 'python' ? 'python' : 'javascript'
  const call = engine === 'python' ? pythonCall : javascriptCall
  const steps = program.steps.map((step) =>
    step.kind === 'call' ? { kind: 'call', source: call(step.name, step.args) } : step,
  )
  const given = JSON.stringify({ ...program, steps, stdin: undefined })
  return {
    engine,
    main: engine === 'python' ? pythonMain(given, mark, limits) : javascriptMain(given, mark, limits),
    files: engine === 'javascript' && asks(program, 'lodash') ? { [lodashFile]: lodash() } : {},
    stdin: program.stdin,
    timeoutMs: program.timeoutMs,
  }
}

const lodashFile = 'lodash.min.js'

function lodash(): string {
  return readFileSync(createRequire(import.meta.url).resolve('lodash/lodash.min.js'), 'utf8')
}

/** Servers take requests of limited length: a package goes along only where its name is somewhere in the text. */
function asks(program: Program, name: string): boolean {
  const texts = [
    program.source,
    program.tests ?? '',
    ...program.steps.map((s) => ('source' in s ? s.source : '')),
  ]
  return program.modules.some((module) => module === name) && texts.some((text) => text.includes(name))
}

function pythonMain(given: string, mark: string, limits: SandboxLimits): string {
  const bytes = (limits.memoryMb + 128) * 2 ** 20
  return pythonDriver(`
program = json.loads(${pythonLiteral(given)})
out = os.fdopen(os.dup(2), 'w')
def report(**line):
    out.write('\\n${mark}' + json.dumps(line) + '\\n')
    out.flush()
try:
    import resource
    resource.setrlimit(resource.RLIMIT_DATA, (${bytes}, ${bytes}))
    del resource
except (ImportError, OSError, ValueError):
    pass
`)
}

function javascriptMain(given: string, mark: string, limits: SandboxLimits): string {
  // A line separator is no line end in JavaScript's texts since 2019; older servers are spared the question.
  const text = JSON.stringify(given).replace(/[\u2028\u2029]/g, (c) =>
    c === '\u2028' ? '\\u2028' : '\\u2029',
  )
  return javascriptDriver(`
const program = JSON.parse(${text})
const report = (line) => fs.writeSync(2, '\\n${mark}' + JSON.stringify(line) + '\\n')
require('v8').setFlagsFromString('--max-old-space-size=${limits.memoryMb}')
const load = (name) => (name === 'lodash' ? createRequire(process.cwd() + '/')('./${lodashFile}') : require(name))
`)
}
