import { readFileSync } from 'node:fs'
import type { CodeCase } from '../../../src/verifiers/code/index.ts'

interface Label {
  set: string
  task_id: string
  passed: boolean
}
type Row = Record<string, string | null>

export interface LabelledCase {
  readonly given: CodeCase
  readonly passed: boolean
}

type Syntax = 'strict' | 'recover'

/**
 * The ids of programs that this sandbox is known to judge otherwise than their label says; the file gives the reason of each. The labels
 * were made with a compiler that recovers from syntax errors.
 */
export function knownDifferences(sandbox: string, syntax: Syntax): ReadonlySet<string> {
  const file = new URL('./label-differences.jsonl', import.meta.url)
  const rows = lines<{ id: string; sandbox?: string; syntax?: Syntax; reason: string }>(
    readFileSync(file, 'utf8'),
  )
  for (const { id, reason } of rows)
    if (!reason) throw new Error(`${file.pathname}: ${id}: expected a reason, got none`)
  const concerned = rows.filter(
    (row) => (row.sandbox ?? sandbox) === sandbox && (row.syntax ?? syntax) === syntax,
  )
  return new Set(concerned.map(({ id }) => id))
}

/** The programs of HumanEvalPack (JavaScript) and MBXP (JavaScript, TypeScript) whose outcome was measured, in file order. */
export function labelledCases(read: (path: string) => string, syntax: Syntax): LabelledCase[] {
  const rows = <T>(path: string) => lines<T>(read(path))
  const byId = (path: string, key = 'task_id') => new Map(rows<Row>(path).map((row) => [row[key]!, row]))
  const pack = byId('humaneval/humanevalpack_js.jsonl')
  const tasks = { mbjsp: byId('mbxp/mbjsp.jsonl'), mbtsp: byId('mbxp/mbtsp.jsonl') }
  const samples = { mbjsp: byId('mbxp/mbjsp_samples.jsonl'), mbtsp: byId('mbxp/mbtsp_samples.jsonl') }
  return ['humaneval/labels.derived.jsonl', 'mbxp/labels.derived.jsonl'].flatMap((path) =>
    rows<Label>(path).map(({ set, task_id, passed }) => {
      const base = { id: `${set}:${task_id}`, timeoutMs: 20_000 }
      if (set.startsWith('humanevalpack-js-')) {
        const row = pack.get(task_id)!
        const code = `${row.declaration}${row[set.slice('humanevalpack-js-'.length)]}`
        return { passed, given: { ...base, language: 'javascript', code, tests: [{ program: row.test! }] } }
      }
      const kind = set.slice(0, 5) as 'mbjsp' | 'mbtsp'
      const row = tasks[kind].get(task_id)!
      const rest = set.endsWith('-samples') ? samples[kind].get(task_id)!.completion : row.canonical_solution
      const language =
        kind === 'mbjsp'
          ? ({ language: 'javascript' } as const)
          : ({ language: 'typescript', syntax } as const)
      return {
        passed,
        given: { ...base, ...language, code: `${row.prompt}${rest}`, tests: [{ program: row.test! }] },
      }
    }),
  )
}

function lines<T>(text: string): T[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T)
}

/** Programs of MBPP and HumanEval in Python with their reference solutions: all of them pass. */
export function pythonReferences(read: (path: string) => string): CodeCase[] {
  const base = { language: 'python' as const, timeoutMs: 20_000 }
  const mbpp = lines<{ task_id: number; code: string; test_setup_code: string; test_list: string[] }>(
    read('mbpp/mbpp.jsonl'),
  ).map((row) => ({
    ...base,
    id: `mbpp:${row.task_id}`,
    code: `${row.code}\n${row.test_setup_code}`,
    tests: row.test_list.map((test) => ({ assert: test })),
  }))
  const humaneval = lines<Record<string, string>>(read('humaneval/humaneval_python.jsonl')).map((row) => ({
    ...base,
    id: row.task_id!,
    code: `${row.prompt}${row.canonical_solution}`,
    tests: [{ program: `${row.test}\ncheck(${row.entry_point})\n` }],
  }))
  return [...mbpp, ...humaneval]
}
