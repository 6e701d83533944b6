/** What a program writes, up to a limit that ends it. */
export class Output {
  readonly #limit: number
  #parts: string[] = []
  #length = 0
  over = false

  constructor(limit: number) {
    this.#limit = limit
  }

  write(text: string, keep = true): void {
    if (this.over) return
    this.#length += text.length
    if (this.#length > this.#limit) this.over = true
    else if (keep) this.#parts.push(text)
  }

  get text(): string {
    return this.#parts.join('')
  }

  clear(): void {
    this.#parts = []
    this.#length = 0
    this.over = false
  }
}
