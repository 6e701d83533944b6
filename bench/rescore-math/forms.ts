import type { Draw } from './draw.ts'

/** A right answer in LaTeX, and what is answered: as right as was asked for, in another notation. */
export interface Drawn {
  gold: string
  answer: string
}
export type Form = (draw: Draw, right: boolean) => Drawn

export const classes = ['numbers', 'fractions', 'symbolic'] as const
export type Class = (typeof classes)[number]

const thousands = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')
const signed = (n: number): string => (n < 0 ? `- ${-n}` : `+ ${n}`)
const gcd = (a: number, b: number): number => (b === 0 ? Math.abs(a) : gcd(b, a % b))

/** A near miss: one more, a digit off, two digits swapped, another sign or order of magnitude. */
function near(draw: Draw, n: number): number {
  const text = String(Math.abs(n))
  const wrong = draw.of([
    n + draw.of([-1, 1, 2, 10]),
    -n,
    n * 10,
    Number(`${n < 0 ? '-' : ''}${text.slice(0, -1)}${(Number(text.at(-1)) + draw.int(1, 9)) % 10}`),
    Number(`${n < 0 ? '-' : ''}${[...text].reverse().join('')}`),
  ])
  return wrong === n || Object.is(wrong, -0) ? n + 1 : wrong
}

/** The same for what is written without a sign. */
function nearSize(draw: Draw, n: number): number {
  const wrong = Math.abs(near(draw, n))
  return wrong === n ? n + 1 : wrong
}

/** A coefficient before a letter. */
const times = (n: number, letter: string): string =>
  n === 1 ? letter : n === -1 ? `-${letter}` : `${n}${letter}`

/** Coefficients, the highest power first, as a sum. */
function polynomial(coefficients: readonly number[], letter: string): string {
  const top = coefficients.length - 1
  const terms = coefficients.flatMap((c, i) => {
    if (c === 0) return []
    const power = top - i
    const tail = power === 0 ? '' : power === 1 ? letter : `${letter}^${power}`
    const size = Math.abs(c) === 1 && power > 0 ? tail : `${Math.abs(c)}${tail}`
    return [(c < 0 ? '-' : '+') + size]
  })
  return terms.join('').replace(/^\+/, '') || '0'
}

const product = (a: readonly number[], b: readonly number[]): number[] => {
  const out = Array<number>(a.length + b.length - 1).fill(0)
  a.forEach((x, i) => b.forEach((y, j) => (out[i + j]! += x * y)))
  return out
}

const fraction = (a: number, b: number, command = 'frac'): string =>
  a < 0 ? `-\\${command}{${-a}}{${b}}` : `\\${command}{${a}}{${b}}`

/** In lowest terms, not whole. */
function drawFraction(draw: Draw, high = 400): [number, number] {
  for (;;) {
    const [a, b] = [draw.nonZero(-high, high), draw.int(2, high)]
    if (gcd(a, b) === 1) return [a, b]
  }
}

/** A fraction near by, of another value. */
function nearFraction(draw: Draw, [a, b]: readonly [number, number]): [number, number] {
  const options: [number, number][] = [
    [a + draw.of([-1, 1]), b],
    [a, b + 1],
    [-a, b],
    [a < 0 ? -b : b, Math.abs(a)],
  ]
  const wrong = draw.of(options)
  return wrong[0] * b === a * wrong[1] ? [a + b, b] : wrong
}

const letters = ['x', 'y', 't', 'n', 'a', 'z'] as const

const numbers: Record<string, Form> = {
  integer: (draw, right) => {
    const n = draw.int(-99_999, 999_999)
    return { gold: `${n}`, answer: `${right ? n : near(draw, n)}` }
  },
  thousands: (draw, right) => {
    const n = draw.int(1_000, 99_999_999)
    return { gold: `${n}`, answer: thousands(right ? n : nearSize(draw, n)) }
  },
  decimal: (draw, right) => {
    const n = draw.int(1, 999_999) * 10 + draw.int(1, 9)
    const places = draw.int(1, 4)
    const write = (m: number) => (m / 10 ** places).toFixed(places)
    const wrong = near(draw, n)
    return right
      ? { gold: write(n), answer: draw.chance(0.5) ? write(n) : `${write(n)}0` }
      : { gold: write(n), answer: write(wrong) }
  },
  unit: (draw, right) => {
    const n = draw.int(2, 99_999)
    const unit = draw.of(['cm', 'meters', 'hours', 'dollars', 'km/h', 'students', 'square units'])
    return { gold: `${n}`, answer: `${right ? n : nearSize(draw, n)} \\text{ ${unit}}` }
  },
  percent: (draw, right) => {
    const n = draw.int(1, 9_999)
    const gold = n / 10
    const answer = right ? gold : nearSize(draw, n) / 10
    const asDecimal = draw.chance(0.3)
    return { gold: `${gold}\\%`, answer: asDecimal ? `${Number((answer / 100).toFixed(4))}` : `${answer}\\%` }
  },
  money: (draw, right) => {
    const cents = draw.int(101, 9_999_999)
    const write = (n: number) => (n / 100).toFixed(2)
    return { gold: write(cents), answer: `\\$${write(right ? cents : nearSize(draw, cents))}` }
  },
  scientific: (draw, right) => {
    const [m, e] = [draw.int(11, 99), draw.int(3, 9)]
    const exponent = right ? e : e + draw.of([-1, 1])
    return { gold: `${m * 10 ** (e - 1)}`, answer: `${m / 10} \\times 10^{${exponent}}` }
  },
  power: (draw, right) => {
    const [base, e] = [draw.int(2, 30), draw.int(2, 8)]
    const value = BigInt(base) ** BigInt(e)
    return { gold: `${base}^{${e}}`, answer: `${right ? value : value + BigInt(draw.of([-1, 1, base]))}` }
  },
  degrees: (draw, right) => {
    const n = draw.int(1, 3_600)
    return {
      gold: `${n / 10}^\\circ`,
      answer: `${(right ? n : nearSize(draw, n)) / 10}${draw.of(['^\\circ', '^{\\circ}', ''])}`,
    }
  },
  sum: (draw, right) => {
    const [a, b] = [draw.int(10, 9_999), draw.int(10, 9_999)]
    return { gold: `${a + b}`, answer: `${a} + ${right ? b : b + draw.of([-1, 1, 10])}` }
  },
}

const fractions: Record<string, Form> = {
  unreduced: (draw, right) => {
    const [a, b] = drawFraction(draw)
    const k = draw.int(2, 12)
    const [c, d] = right ? [a, b] : nearFraction(draw, [a, b])
    return { gold: fraction(a, b), answer: fraction(c * k, d * k, draw.of(['frac', 'dfrac', 'tfrac'])) }
  },
  slash: (draw, right) => {
    const [a, b] = drawFraction(draw)
    const [c, d] = right ? [a, b] : nearFraction(draw, [a, b])
    return { gold: fraction(a, b), answer: `${c}/${d}` }
  },
  decimal: (draw, right) => {
    const [a, k] = [draw.nonZero(-4_000, 4_000), draw.of([4, 8, 16, 20, 25, 40, 50, 80, 125])]
    const g = gcd(a, k)
    const value = a / k
    const off = right ? 0 : draw.of([0.01, -0.01, 1, 0.5])
    return {
      gold: k / g === 1 ? `${a / g}` : fraction(a / g, k / g),
      answer: `${Number((value + off).toFixed(6))}`,
    }
  },
  sum: (draw, right) => {
    const [[a, b], [c, d]] = [drawFraction(draw, 30), drawFraction(draw, 30)]
    const [top, bottom] = [a * d + c * b, b * d]
    const g = gcd(top, bottom)
    const [n, m] = [top / g, bottom / g]
    const gold = m === 1 ? `${n}` : fraction(n, m)
    const e = right ? c : c + draw.of([-1, 1])
    return { gold, answer: `${fraction(a, b)} ${e < 0 ? '-' : '+'} ${fraction(Math.abs(e), d)}` }
  },
  mixed: (draw, right) => {
    const [a, b] = drawFraction(draw, 60).map(Math.abs) as [number, number]
    const [k, rest] = [draw.int(1, 40), a % b]
    const m = right ? k : k + 1
    return { gold: fraction(k * b + rest, b), answer: `${m}\\frac{${rest}}{${b}}` }
  },
  rounded: (draw, right) => {
    const a = draw.int(1, 3_000)
    const b = draw.of([3, 7, 9, 11, 13, 17, 19, 21, 23])
    const off = right ? 0 : draw.of([1e-3, -1e-3, 0.1])
    const whole = a % b === 0 ? a + 1 : a
    const g = gcd(whole, b)
    return { gold: fraction(whole / g, b / g), answer: (whole / b + off).toFixed(draw.int(7, 10)) }
  },
}

const symbolic: Record<string, Form> = {
  quadratic: (draw, right) => {
    const x = draw.of(letters)
    const [a, b] = [draw.nonZero(-60, 60), draw.nonZero(-60, 60)]
    const gold = polynomial(product([1, a], [1, b]), x)
    const c = right ? b : draw.of([b + 1, b - 1, -b])
    return { gold, answer: `(${x} ${signed(a)})(${x} ${signed(c === 0 ? b + 2 : c)})` }
  },
  cubic: (draw, right) => {
    const x = draw.of(letters)
    const roots = [draw.nonZero(-9, 9), draw.nonZero(-9, 9), draw.nonZero(-9, 9)]
    const parts = roots.map((r) => [1, r])
    const gold = polynomial(parts.reduce(product), x)
    if (!right) roots[2] = roots[2]! === 9 ? -9 : roots[2]! + 1 || 1
    return { gold, answer: roots.map((r) => `(${x} ${signed(r)})`).join('') }
  },
  collected: (draw, right) => {
    const x = draw.of(letters)
    const [a, b, c, d] = [draw.int(2, 90), draw.int(1, 99), draw.int(2, 90), draw.int(1, 99)]
    const gold = polynomial([a + c, b - d], x)
    return { gold, answer: `${a}${x} + ${b} + ${c}${x} - ${right ? d : d + draw.of([1, 2])}` }
  },
  radical: (draw, right) => {
    const [k, n] = [draw.int(2, 60), draw.of([2, 3, 5, 6, 7, 10, 11, 13, 14, 15, 17, 19])]
    const inside = right ? k * k * n : (k + draw.of([1, -1])) ** 2 * n || n
    return { gold: `${k}\\sqrt{${n}}`, answer: `\\sqrt{${inside}}` }
  },
  denominator: (draw, right) => {
    const [k, n] = [draw.int(1, 90), draw.of([2, 3, 5, 6, 7, 10, 11, 13])]
    const m = right ? k : k + draw.of([1, 2])
    return { gold: `\\frac{${k}}{\\sqrt{${n}}}`, answer: `\\frac{${m}\\sqrt{${n}}}{${n}}` }
  },
  surd: (draw, right) => {
    const [a, b, n] = [draw.nonZero(-99, 99), draw.int(2, 60), draw.of([2, 3, 5, 7, 11])]
    return {
      gold: `${a} + ${b}\\sqrt{${n}}`,
      answer: `${b}\\sqrt{${n}} ${signed(right ? a : near(draw, a))}`,
    }
  },
  line: (draw, right) => {
    const [m, b] = [draw.nonZero(-99, 99), draw.nonZero(-99, 99)]
    const c = right ? b : near(draw, b)
    return {
      gold: `y = ${times(m, 'x')} ${signed(b)}`,
      answer: `y = ${c} ${m < 0 ? '-' : '+'} ${times(Math.abs(m), 'x')}`,
    }
  },
  standard: (draw, right) => {
    const [a, b, c] = [draw.int(2, 60), draw.nonZero(-60, 60), draw.int(1, 99)]
    const d = right ? c : c + draw.of([1, 2])
    return { gold: `${a}x ${signed(b)}y = ${c}`, answer: `${a}x ${signed(b)}y - ${d} = 0` }
  },
  plusMinus: (draw, right) => {
    const [a, n] = [draw.nonZero(-99, 99), draw.of([2, 3, 5, 6, 7, 10, 11, 13])]
    const b = right ? a : near(draw, a)
    return { gold: `${a} \\pm \\sqrt{${n}}`, answer: `${b}+\\sqrt{${n}}, ${b}-\\sqrt{${n}}` }
  },
  list: (draw, right) => {
    const items = [...new Set([1, 2, 3].map(() => draw.int(-99, 99)))]
    const other = draw.shuffled(items)
    if (!right) other[0] = Math.max(...items) + draw.int(1, 3)
    return { gold: items.join(', '), answer: other.join(', ') }
  },
  assignment: (draw, right) => {
    const [a, b] = drawFraction(draw, 99)
    const [c, d] = right ? [a, b] : nearFraction(draw, [a, b])
    return { gold: fraction(a, b), answer: `${draw.of(letters)} = ${fraction(c, d)}` }
  },
  interval: (draw, right) => {
    const [a, b] = [draw.int(-200, 0), draw.int(1, 200)]
    const [open, close] = [draw.of(['(', '[']), draw.of([')', ']'])]
    if (right) return { gold: `${open}${a}, ${b}${close}`, answer: `\\left${open}${a},${b}\\right${close}` }
    if (draw.chance(0.5)) return { gold: `${open}${a}, ${b}${close}`, answer: `${open}${a},${b + 1}${close}` }
    return { gold: `[${a}, ${b}${close}`, answer: `(${a}, ${b}${close}` }
  },
  union: (draw, right) => {
    const [a, b] = [draw.int(-99, 0), draw.int(1, 99)]
    const c = right ? b : b + draw.of([1, 2])
    const gold = `(-\\infty, ${a}) \\cup (${b}, \\infty)`
    return { gold, answer: `(${c},\\infty)\\cup(-\\infty,${a})` }
  },
  set: (draw, right) => {
    const items = [...new Set([1, 2, 3, 4].map(() => draw.int(-99, 99)))]
    const other = draw.shuffled(items)
    if (!right) other[0] = Math.max(...items) + draw.int(1, 3)
    return { gold: `\\{${items.join(', ')}\\}`, answer: `\\{${other.join(',')}\\}` }
  },
  tuple: (draw, right) => {
    const [a, b] = [draw.int(-200, 200), draw.int(201, 400)]
    const half = draw.chance(0.3)
    const gold = `(${half ? fraction(a * 2 + 1, 2) : a}, ${b})`
    const first = half ? `${(a * 2 + 1) / 2}` : `${a}`
    if (right) return { gold, answer: `(${first},${b})` }
    return { gold, answer: draw.chance(0.5) ? `(${b},${first})` : `(${first},${b + 1})` }
  },
  matrix: (draw, right) => {
    const m = [1, 2, 3, 4].map(() => draw.int(-30, 30))
    const n = [...m]
    if (!right) n[draw.int(0, 3)]! += draw.of([-1, 1])
    const write = ([a, b, c, d]: number[], kind: string) =>
      `\\begin{${kind}} ${a} & ${b} \\\\ ${c} & ${d} \\end{${kind}}`
    return { gold: write(m, 'pmatrix'), answer: write(n, draw.of(['pmatrix', 'bmatrix'])) }
  },
  inequality: (draw, right) => {
    const x = draw.of(letters)
    const n = draw.int(-999, 999)
    const [sign, turned] = draw.of([
      ['<', '>'],
      ['>', '<'],
      ['\\le', '\\ge'],
      ['\\geq', '\\leq'],
    ] as const)
    return { gold: `${x} ${sign} ${n}`, answer: right ? `${n} ${turned} ${x}` : `${n} ${sign} ${x}` }
  },
  pi: (draw, right) => {
    const [a, b] = [draw.int(1, 400), draw.of([2, 4, 5, 8])]
    const g = gcd(a, b)
    const gold = b / g === 1 ? `${a / g}\\pi` : `\\frac{${a / g}\\pi}{${b / g}}`
    return { gold, answer: `${Number((a / b + (right ? 0 : draw.of([0.5, 0.01]))).toFixed(4))}\\pi` }
  },
  exponent: (draw, right) => {
    const [base, k] = [draw.int(2, 9), draw.int(1, 4)]
    const [x, m] = [draw.of(letters), draw.int(1, 40)]
    const factor = base ** k * m
    return {
      gold: `${m} \\cdot ${base}^{${x}+${k}}`,
      answer: `${right ? factor : factor + draw.of([1, base])} \\cdot ${base}^{${x}}`,
    }
  },
  complex: (draw, right) => {
    const [a, b] = [draw.nonZero(-99, 99), draw.int(2, 99)]
    const c = right ? a : near(draw, a)
    return { gold: `${a} + ${b}i`, answer: `${b}i ${signed(c)}` }
  },
  logarithm: (draw, right) => {
    const [base, e] = [draw.int(2, 12), draw.int(2, 6)]
    const k = draw.int(2, 30)
    return { gold: `${k * e}`, answer: `${right ? k : k + 1}\\log_{${base}} ${base ** e}` }
  },
  rational: (draw, right) => {
    const x = draw.of(letters)
    const [a, b] = [draw.int(1, 60), draw.int(1, 60)]
    const c = right ? a - b : a - b + draw.of([1, -1])
    const gold = `\\frac{${x}+${a}}{${x}+${b}}`
    return { gold, answer: `1 ${c < 0 ? '-' : '+'} \\frac{${Math.abs(c)}}{${x}+${b}}` }
  },
}

export const forms: Record<Class, Readonly<Record<string, Form>>> = { numbers, fractions, symbolic }
