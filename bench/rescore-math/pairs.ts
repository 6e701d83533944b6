import { Draw } from './draw.ts'
import { type Class, classes, forms } from './forms.ts'

/** A stored rollout's response and the right answer, as `cascade verify math` takes them, and what is known of it. */
export interface Pair {
  id: string
  class: Class
  form: string
  /** By how it was made. */
  right: boolean
  response: string
  /** LaTeX without dollar signs. */
  answer: string
}

/** How many in a hundred are of each class. */
const shares: Readonly<Record<Class, number>> = { numbers: 50, fractions: 25, symbolic: 25 }

/** Distinct pairs, about half of them wrong, in blocks of one class that take turns. */
export function* pairs(count: number, block: number, seed = 1): Generator<Pair> {
  const draw = new Draw(seed)
  const seen = new Set<string>()
  const given: Record<Class, number> = { numbers: 0, fractions: 0, symbolic: 0 }
  let made = 0
  while (made < count) {
    // The class that is most behind its share.
    const name = classes.toSorted((a, b) => given[a] / shares[a] - given[b] / shares[b])[0]!
    const size = Math.min(block, count - made)
    for (let i = 0; i < size; i++) {
      const pair = distinct(draw, name, seen)
      yield { id: `${name}-${given[name]}`, ...pair }
      given[name] += 1
      made += 1
    }
  }
}

function distinct(draw: Draw, name: Class, seen: Set<string>): Omit<Pair, 'id'> {
  for (;;) {
    const form = draw.of(Object.keys(forms[name]))
    const right = draw.chance(0.5)
    const { gold, answer } = forms[name][form]!(draw, right)
    const response = written(draw, answer)
    const key = JSON.stringify([gold, response])
    if (seen.has(key)) continue
    seen.add(key)
    return { class: name, form, right, response, answer: gold }
  }
}

/** A worked solution that ends in the answer, as models write them. */
function written(draw: Draw, answer: string): string {
  const [a, b] = [draw.int(2, 99), draw.int(2, 99)]
  const work = draw.of([
    '',
    `First we note that ${a} + ${b} = ${a + b}. `,
    `We are given $${a}$ and $${b}$, whose product is $${a} \\cdot ${b} = ${a * b}$.\n\n`,
    `Let $k = ${a}$. Then $k^2 = ${a * a}$, and by the formula above with $m = ${b}$ the rest follows.\n`,
    `Step 1: There are ${a} of them, and each has ${b}, so we count ${a * b} in all.\nStep 2: We simplify.\n`,
  ])
  if (/^-?[\d.,/]+$/.test(answer) && draw.chance(0.4)) {
    return draw.of([
      `${work}#### ${answer}`,
      `${work}The answer is ${answer}.`,
      `${work}So we get ${answer}.`,
      `${work}Final answer: ${answer}`,
    ])
  }
  return draw.of([
    `${work}Therefore, the final answer is $\\boxed{${answer}}$.`,
    `${work}So the answer is $${answer}$.`,
    `${work}\\[ \\boxed{${answer}} \\]`,
    `${work}The final answer is $${answer}$. I hope it is correct.`,
  ])
}
