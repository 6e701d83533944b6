/**
 * All substrings of a sequence of symbols, in linear space. A state stands for the substrings that end at the same places; `first`
 * is the earliest of those places. One object is filled again for each range, so that a recursion over ranges allocates nothing.
 */
export class SuffixAutomaton {
  /** Length of a state's longest substring. */
  readonly #length: Int32Array
  readonly #link: Int32Array
  /** Where the earliest occurrence of a state's substrings ends. */
  readonly #first: Int32Array
  readonly #edges: Int32Array
  /** Transitions: a hash table of (state, symbol), and a chain of each state's entries, which copying a state follows. */
  readonly #slots: Int32Array
  readonly #from: Int32Array
  readonly #symbol: Int32Array
  readonly #to: Int32Array
  readonly #next: Int32Array
  #states = 0
  #transitions = 0
  #mask = 0

  constructor(capacity: number) {
    const states = 2 * capacity + 2
    const transitions = 3 * capacity + 4
    this.#length = new Int32Array(states)
    this.#link = new Int32Array(states)
    this.#first = new Int32Array(states)
    this.#edges = new Int32Array(states)
    this.#slots = new Int32Array(tableSize(transitions))
    this.#from = new Int32Array(transitions)
    this.#symbol = new Int32Array(transitions)
    this.#to = new Int32Array(transitions)
    this.#next = new Int32Array(transitions)
  }

  /** Makes this the automaton of `symbols[low..high)`. */
  build(symbols: Int32Array, low: number, high: number): void {
    const size = tableSize(3 * (high - low) + 4)
    this.#mask = size - 1
    this.#slots.fill(-1, 0, size)
    this.#states = 0
    this.#transitions = 0
    let last = this.#state(0, -1, -1)
    for (let at = low; at < high; at++) last = this.#extend(last, symbols[at]!, at)
  }

  /**
   * The longest run of `symbols[low..high)` that is a substring here: the first such run, at its earliest place here. Symbols below
   * zero match nothing.
   */
  longest(symbols: Int32Array, low: number, high: number): { size: number; a: number; b: number } {
    let state = 0
    let length = 0
    let best = { size: 0, a: low, b: 0 }
    for (let at = low; at < high; at++) {
      const symbol = symbols[at]!
      let next = symbol < 0 ? -1 : this.#follow(state, symbol)
      while (next < 0 && state !== 0 && symbol >= 0) {
        state = this.#link[state]!
        length = this.#length[state]!
        next = this.#follow(state, symbol)
      }
      if (next < 0) {
        state = 0
        length = 0
        continue
      }
      state = next
      length += 1
      if (length > best.size) {
        best = { size: length, a: at - length + 1, b: this.#first[state]! - length + 1 }
      }
    }
    return best
  }

  #extend(last: number, symbol: number, at: number): number {
    const added = this.#state(this.#length[last]! + 1, 0, at)
    let state = last
    while (state >= 0 && this.#follow(state, symbol) < 0) {
      this.#connect(state, symbol, added)
      state = this.#link[state]!
    }
    if (state < 0) return added
    const target = this.#follow(state, symbol)
    if (this.#length[target] === this.#length[state]! + 1) {
      this.#link[added] = target
      return added
    }
    const copy = this.#state(this.#length[state]! + 1, this.#link[target]!, this.#first[target]!)
    for (let edge = this.#edges[target]!; edge >= 0; edge = this.#next[edge]!) {
      this.#connect(copy, this.#symbol[edge]!, this.#to[edge]!)
    }
    for (; state >= 0; state = this.#link[state]!) {
      const slot = this.#slot(state, symbol)
      const edge = this.#slots[slot]!
      if (edge < 0 || this.#to[edge] !== target) break
      this.#to[edge] = copy
    }
    this.#link[target] = copy
    this.#link[added] = copy
    return added
  }

  #state(length: number, link: number, first: number): number {
    const state = this.#states++
    this.#length[state] = length
    this.#link[state] = link
    this.#first[state] = first
    this.#edges[state] = -1
    return state
  }

  #connect(state: number, symbol: number, to: number): void {
    const edge = this.#transitions++
    this.#slots[this.#slot(state, symbol)] = edge
    this.#from[edge] = state
    this.#symbol[edge] = symbol
    this.#to[edge] = to
    this.#next[edge] = this.#edges[state]!
    this.#edges[state] = edge
  }

  #follow(state: number, symbol: number): number {
    const edge = this.#slots[this.#slot(state, symbol)]!
    return edge < 0 ? -1 : this.#to[edge]!
  }

  /** Where (state, symbol) is, or the free slot where it belongs. */
  #slot(state: number, symbol: number): number {
    let hash = Math.imul(state, 0x9e3779b1) ^ Math.imul(symbol + 1, 0x85ebca6b)
    hash ^= hash >>> 15
    let slot = hash & this.#mask
    for (;;) {
      const edge = this.#slots[slot]!
      if (edge < 0 || (this.#from[edge] === state && this.#symbol[edge] === symbol)) return slot
      slot = (slot + 1) & this.#mask
    }
  }
}

/** A power of two at least twice the entries: probing always finds a free slot. */
function tableSize(entries: number): number {
  return 2 ** Math.ceil(Math.log2(2 * entries))
}
