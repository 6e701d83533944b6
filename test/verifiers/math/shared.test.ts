import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Notations } from '../../../src/verifiers/math/extract.ts'
import { judgeMath, type MathOptions } from '../../../src/verifiers/math/judge.ts'
import { sharedData } from '../../shared-data.ts'
import { differences } from './differences.ts'

function rows<T>(file: string): T[] {
  const lines = readFileSync(sharedData(file)!, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as T)
}
const right = (response: string, gold: string, options?: MathOptions): boolean =>
  judgeMath(response, gold, options).comparison?.equal ?? false

interface Row {
  id: string
  gold: string
  pred: string
  expected: boolean
  options?: {
    precision?: number
    strict?: boolean
    allow_set_relation_comp?: boolean
    match_types?: Notations
  }
}

describe.skipIf(!sharedData('math-equivalence/math_verify_cases.jsonl'))("the peers' tables", () => {
  test('every verdict is as expected or a difference with its reason', () => {
    const found: string[] = []
    for (const table of ['math_verify', 'hendrycks']) {
      for (const row of rows<Row>(`math-equivalence/${table}_cases.jsonl`)) {
        const {
          precision,
          strict,
          allow_set_relation_comp: setForRelation,
          match_types: notations,
        } = row.options ?? {}
        const options = Object.entries({
          precision,
          strict,
          setForRelation,
          notations,
          bare: table === 'hendrycks',
        })
        const given: MathOptions = Object.fromEntries(options.filter(([, v]) => v !== undefined))
        if (right(row.pred, row.gold, given) !== row.expected) found.push(row.id)
      }
    }
    expect(found.sort()).toEqual(Object.keys(differences).sort())
  })
})

describe.skipIf(!sharedData('gsm8k/test.jsonl'))('grade-school solutions', () => {
  test('every recorded verdict on a final answer', () => {
    const wrong = rows<{ gold: string; pred: string | null; is_correct: boolean }>(
      'gsm8k/answer_pairs.derived.jsonl',
    ).filter((r) => right(r.pred ?? '', r.gold, { bare: true }) !== r.is_correct)
    expect(wrong).toEqual([])
  })

  test('every recorded verdict on a whole solution, and every gold solution', () => {
    const golds = rows<{ answer: string }>('gsm8k/test.jsonl').map((r) => r.answer)
    const models = ['6b_finetuning', '6b_verification', '175b_finetuning', '175b_verification']
    type Solutions = Record<string, { is_correct: boolean; solution: string }>
    const wrong = rows<Solutions>('gsm8k/model_solutions.jsonl').flatMap((row, i) =>
      models.flatMap((m) => (right(row[m]!.solution, golds[i]!) === row[m]!.is_correct ? [] : [row[m]])),
    )
    expect(wrong).toEqual([])
    expect(golds.filter((gold) => !right(gold, gold))).toEqual([])
  })
})

/** One gold in the notations that models use for it. */
function variants(gold: string, numerical: boolean): Record<string, string> {
  const inside = gold.replace(/\.$/, '').replaceAll('$', '')
  return {
    itself: gold,
    dfrac: gold.replaceAll('\\frac', '\\dfrac'),
    tfrac: gold.replaceAll('\\frac', '\\tfrac'),
    left: gold.replace(/(?<!\\left)\(([^()[\]]*)\)/g, '\\left($1\\right)'),
    right: gold.replaceAll(/\\left|\\right/g, ''),
    boxed: `So \\boxed{${inside}}`,
    stopped: `${gold}.`,
    spaced: gold.replace(/([+=,])/g, ' $1 '),
    said: `The answer is $${inside}$.`,
    bare: inside,
    display: `\\[ ${inside} \\]`,
    ...(numerical ? { unit: `$${inside}\\text{ units}$`, unitBoxed: `\\boxed{${inside} \\text{ cm}}` } : {}),
  }
}

describe.skipIf(!sharedData('olympiadbench/olympiadbench.jsonl'))('olympiad golds', () => {
  test('each equals itself in every notation', () => {
    interface Problem {
      answer: string[]
      answer_type: string
    }
    const problems = rows<Problem>('olympiadbench/olympiadbench.jsonl')
    const all = problems.flatMap((p) =>
      p.answer.flatMap((gold) =>
        Object.entries(variants(gold, p.answer_type === 'Numerical')).map(([kind, text]) => ({
          gold,
          kind,
          text,
        })),
      ),
    )
    expect(all.length).toBeGreaterThan(4000)
    expect(all.filter(({ gold, text }) => !right(text, gold))).toEqual([])
  })
})
