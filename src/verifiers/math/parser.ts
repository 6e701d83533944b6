import type { Node, Relation } from './ast.ts'
import { inverse, isFraction, negated, number } from './build.ts'
import { functions, lex, type Token } from './lexer.ts'
import { limits, Unreadable } from './limits.ts'
import { decimal, whole } from './rational.ts'

const relations: Readonly<Record<string, Relation>> = {
  '=': '=',
  '<': '<',
  '>': '>',
  '\\le': '<=',
  '\\ge': '>=',
  '\\ne': '!=',
  '\\approx': '~',
  '\\in': 'in',
  '\\equiv': '=',
  '\\sim': '~',
  '\\to': 'to',
  '\\rightarrow': 'to',
}
const joins: Readonly<Record<string, 'union' | 'intersection' | 'minus'>> = {
  '\\cup': 'union',
  '\\cap': 'intersection',
  '\\setminus': 'minus',
  '\\backslash': 'minus',
}
const big = new Set(['\\sum', '\\prod', '\\int', '\\lim', '\\max', '\\min'])
const application = /^[fghFGH]$/

/** The answer in `text`, already cleaned; throws {@link Unreadable} where it is no mathematics. */
export function parse(text: string): Node {
  return new Parser(lex(text)).whole()
}

class Parser {
  readonly #tokens: Token[]
  #at = 0
  #depth = 0
  /** Bars that are open: a bar then closes one. */
  #bars = 0

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  whole(): Node {
    while (this.#skip(',', ';')) {}
    const node = this.#list()
    if (this.#at < this.#tokens.length) throw new Unreadable(`unexpected ${this.#tokens[this.#at]!.text}`)
    return node
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at]
  }

  #is(...texts: string[]): boolean {
    const t = this.#peek()
    return t !== undefined && t.kind !== 'text' && texts.includes(t.text)
  }

  #skip(...texts: string[]): boolean {
    if (!this.#is(...texts)) return false
    this.#at++
    return true
  }

  #need(text: string): void {
    if (!this.#skip(text)) throw new Unreadable(`expected ${text}, got ${this.#peek()?.text ?? 'the end'}`)
  }

  #nested<T>(f: () => T): T {
    if (++this.#depth > limits.depth) throw new Unreadable('nested too deep')
    const result = f()
    this.#depth--
    return result
  }

  #list(): Node {
    const items = this.#items()
    return items.length === 1 ? items[0]! : { k: 'list', items }
  }

  #items(): Node[] {
    const items = [this.#relation()]
    while (this.#skip(',', ';')) {
      while (this.#skip(',', ';')) {}
      if (this.#peek() === undefined || this.#is('}', ')', ']', '\\}')) break
      items.push(this.#relation())
      if (items.length > limits.items) throw new Unreadable('too many items')
    }
    return items
  }

  #relation(): Node {
    const args = [this.#union()]
    const ops: Relation[] = []
    for (let t = this.#peek(); t && t.kind !== 'text' && t.text in relations; t = this.#peek()) {
      this.#at++
      ops.push(relations[t.text]!)
      args.push(this.#union())
    }
    return ops.length === 0 ? args[0]! : { k: 'rel', ops, args }
  }

  #union(): Node {
    let node = this.#ratio()
    for (let t = this.#peek(); t && t.kind === 'command' && t.text in joins; t = this.#peek()) {
      this.#at++
      const k = joins[t.text]!
      const right = this.#ratio()
      node = node.k === k ? { k, args: [...node.args, right] } : { k, args: [node, right] }
    }
    return node
  }

  #ratio(): Node {
    const args = [this.#sum()]
    while (this.#skip(':')) args.push(this.#sum())
    return args.length === 1 ? args[0]! : { k: 'ratio', args }
  }

  #sum(): Node {
    const args: Node[] = []
    do {
      if (args.length > limits.tokens) throw new Unreadable('too long')
      if (this.#skip('\\pm', '\\mp')) args.push({ k: 'pm', arg: this.#product() })
      else if (this.#skip('-')) {
        let minus = true
        for (; this.#is('-', '+'); this.#at++) if (this.#is('-')) minus = !minus
        args.push(minus ? negated(this.#product()) : this.#product())
      } else {
        while (this.#skip('+')) {}
        args.push(this.#product())
      }
    } while (this.#is('+', '-', '\\pm', '\\mp'))
    return args.length === 1 ? args[0]! : { k: 'add', args }
  }

  #product(): Node {
    const args = [this.#factor()]
    for (;;) {
      if (this.#skip('*')) args.push(this.#signed())
      else if (this.#skip('/')) args.push(inverse(this.#signed()))
      else if (this.#peek()?.kind === 'text' && args.length > 0) this.#unit()
      else if (this.#startsFactor()) {
        const next = this.#factor()
        const last = args.at(-1)!
        // A whole number before a fraction of two numbers is a mixed number.
        if (last.k === 'num' && last.places === undefined && args.length === 1 && isFraction(next))
          args[0] = { k: 'add', args: [last, next] }
        else args.push(next)
      } else return args.length === 1 ? args[0]! : { k: 'mul', args }
    }
  }

  /** Words and powers of words behind a value are its unit. */
  #unit(): void {
    while (this.#peek()?.kind === 'text') {
      this.#at++
      if (this.#skip('^')) this.#argument()
      if (this.#is('/') && this.#tokens[this.#at + 1]?.kind === 'text') this.#at++
    }
  }

  #signed(): Node {
    if (this.#skip('-')) return this.#nested(() => negated(this.#signed()))
    return this.#factor()
  }

  #startsFactor(): boolean {
    const t = this.#peek()
    if (!t) return false
    if (t.kind === 'number' || t.kind === 'letter') return true
    if (t.kind === 'sign')
      return t.text === '(' || t.text === '[' || t.text === '{' || (t.text === '|' && this.#bars === 0)
    if (t.kind === 'text') return false
    return (
      !(t.text in relations || t.text in joins) &&
      !['\\}', '\\rfloor', '\\rceil', '\\end', '\\\\', '\\pm', '\\mp', '\\percent', '\\rangle'].includes(
        t.text,
      )
    )
  }

  #factor(): Node {
    return this.#nested(() => {
      let node = this.#atom()
      for (;;) {
        if (this.#skip('^')) node = { k: 'pow', base: node, exp: this.#argument() }
        else if (this.#skip('!')) node = { k: 'fn', name: 'factorial', args: [node] }
        else if (this.#skip('\\percent')) node = { k: 'percent', arg: node }
        else if (this.#skip("'")) node = { k: 'fn', name: "'", args: [node] }
        else return node
      }
    })
  }

  /** What a command or a power takes: a group, or one digit or letter. */
  #argument(): Node {
    const t = this.#peek()
    if (!t) throw new Unreadable('expected an argument, got the end')
    if (t.kind === 'number' && t.text.length > 1 && this.#tokens[this.#at - 1]?.text !== '^') {
      this.#tokens[this.#at] = { ...t, text: t.text.slice(1), spaced: false }
      return { k: 'num', v: decimal(t.text[0]!) }
    }
    if (this.#skip('-')) return negated(this.#argument())
    return this.#nested(() => this.#atom())
  }

  #atom(): Node {
    const t = this.#peek()
    if (!t) throw new Unreadable('expected a value, got the end')
    this.#at++
    if (t.kind === 'number') return number(t.text)
    if (t.kind === 'letter') return this.#symbol(t.text)
    if (t.kind === 'text') return { k: 'text', text: t.text.toLowerCase() }
    if (t.kind === 'command') return this.#command(t.text)
    switch (t.text) {
      case '{':
        return this.#group('}')
      case '(':
      case '[':
        return this.#brackets(t.text)
      case '|': {
        this.#bars++
        const arg = this.#nested(() => this.#sum())
        this.#bars--
        this.#need('|')
        return { k: 'fn', name: 'abs', args: [arg] }
      }
      default:
        throw new Unreadable(`unexpected ${t.text}`)
    }
  }

  #group(close: string): Node {
    const bars = this.#bars
    this.#bars = 0
    const node = this.#nested(() => this.#list())
    this.#bars = bars
    this.#need(close)
    return node
  }

  #brackets(open: '(' | '['): Node {
    const bars = this.#bars
    this.#bars = 0
    const items = this.#nested(() => this.#items())
    this.#bars = bars
    const close = this.#is(')') ? ')' : ']'
    this.#need(close)
    if (items.length === 1 && (open === '(') === (close === ')')) return items[0]!
    return { k: 'tuple', open, close, items }
  }

  #symbol(name: string): Node {
    const full = name + this.#subscript()
    if (application.test(name) && this.#is('(')) {
      const arg = this.#atom()
      return { k: 'fn', name: full, args: arg.k === 'tuple' ? arg.items : [arg] }
    }
    return { k: 'sym', name: full }
  }

  #subscript(): string {
    if (!this.#skip('_')) return ''
    const from = this.#at
    let depth = 0
    do {
      const t = this.#peek()
      if (!t) throw new Unreadable('expected a subscript, got the end')
      if (t.text === '{') depth++
      else if (t.text === '}') depth--
      this.#at++
    } while (depth > 0)
    const inside = this.#tokens.slice(from, this.#at).filter((t) => !/[{}]/.test(t.text))
    return `_${inside.map((t) => t.text).join('')}`
  }

  #command(name: string): Node {
    const bare = name.slice(1)
    switch (bare) {
      case 'frac': {
        const top = this.#argument()
        return { k: 'mul', args: [top, inverse(this.#argument())] }
      }
      case 'sqrt': {
        let index: Node = { k: 'num', v: whole(2) }
        if (this.#skip('[')) {
          index = this.#sum()
          this.#need(']')
        }
        return { k: 'pow', base: this.#argument(), exp: inverse(index) }
      }
      case 'binom':
        return { k: 'fn', name: 'binom', args: [this.#argument(), this.#argument()] }
      case 'lfloor':
      case 'lceil':
        return {
          k: 'fn',
          name: bare.slice(1),
          args: [this.#group(bare === 'lfloor' ? '\\rfloor' : '\\rceil')],
        }
      case '{': {
        const items = this.#is('\\}') ? [] : this.#nested(() => this.#items())
        this.#need('\\}')
        return { k: 'set', items }
      }
      case 'begin':
        return this.#matrix()
      case 'boxed':
      case 'fbox':
        return this.#argument()
      case 'emptyset':
      case 'varnothing':
        return { k: 'set', items: [] }
      case 'pmod':
      case 'bmod':
      case 'mod':
        return { k: 'fn', name: 'mod', args: [this.#argument()] }
    }
    if (big.has(name)) return this.#operator(bare)
    if (functions.has(bare)) return this.#function(bare)
    if (!/^[a-zA-Z]+$/.test(bare)) throw new Unreadable(`unexpected ${name}`)
    return { k: 'sym', name: (bare === 'inf' ? 'infty' : bare) + this.#subscript() }
  }

  #operator(name: string): Node {
    const args: Node[] = []
    for (;;) {
      if (this.#skip('_')) args.push(this.#is('{') ? this.#atom() : this.#argument())
      else if (this.#skip('^')) args.push(this.#argument())
      else break
    }
    return { k: 'fn', name, args: [...args, this.#nested(() => this.#product())] }
  }

  #function(name: string): Node {
    let base: Node | undefined
    let power: Node | undefined
    if (this.#skip('_')) base = this.#argument()
    if (this.#skip('^')) power = this.#argument()
    const arg = this.#functionArgument()
    const args = arg.k === 'tuple' ? arg.items : [arg]
    const value: Node = { k: 'fn', name, args: base ? [...args, base] : args }
    return power ? { k: 'pow', base: value, exp: power } : value
  }

  /** `\sin 2x` takes all of `2x`, `\sin(a)b` only the brackets. */
  #functionArgument(): Node {
    if (this.#is('(', '{', '[')) {
      const node = this.#atom()
      return this.#skip('^') ? { k: 'pow', base: node, exp: this.#argument() } : node
    }
    const args = [this.#signed()]
    while (
      this.#peek()?.kind === 'number' ||
      this.#peek()?.kind === 'letter' ||
      this.#is('\\pi', '\\frac', '\\theta', '\\alpha')
    )
      args.push(this.#factor())
    return args.length === 1 ? args[0]! : { k: 'mul', args }
  }

  #matrix(): Node {
    const name = this.#word()
    if (!/^(?:[pbvBV]?matrix|array|cases)$/.test(name)) throw new Unreadable(`unknown environment ${name}`)
    if (name === 'array' && this.#skip('{'))
      while (!this.#skip('}')) if (!this.#tokens[this.#at++]) throw new Unreadable('expected }')
    const rows: Node[][] = [[]]
    while (!this.#skip('\\end')) {
      if (this.#skip('\\\\')) rows.push([])
      else if (!this.#skip('&')) rows.at(-1)!.push(this.#nested(() => this.#relation()))
      if (this.#at >= this.#tokens.length) throw new Unreadable('expected \\end')
    }
    this.#word()
    return { k: 'matrix', rows: rows.filter((row) => row.length > 0) }
  }

  #word(): string {
    this.#need('{')
    let text = ''
    for (let t = this.#peek(); t && t.text !== '}'; t = this.#peek()) {
      text += t.text
      this.#at++
    }
    this.#need('}')
    return text
  }
}
