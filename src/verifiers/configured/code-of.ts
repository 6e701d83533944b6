const aliases: Readonly<Record<string, readonly string[]>> = {
  python: ['python', 'py', 'python3'],
  javascript: ['javascript', 'js', 'node', 'mjs'],
  typescript: ['typescript', 'ts'],
}

const thoughtEnd = '</think>'

interface Block {
  /** In lower case; empty where none is given. */
  readonly language: string
  readonly lines: string[]
}

/**
 * The program in a response: the last fenced block in the language, else the last without a language, else the whole text. A block that
 * is not closed ends with the text. What a model thought before its answer is left out.
 */
export function codeOf(response: string, language: unknown): string {
  const thought = response.lastIndexOf(thoughtEnd)
  const answer = thought < 0 ? response : response.slice(thought + thoughtEnd.length)
  const blocks = blocksOf(answer)
  const names = typeof language === 'string' ? (aliases[language] ?? [language]) : []
  const block =
    blocks.findLast((b) => names.includes(b.language)) ?? blocks.findLast((b) => b.language === '')
  return block ? block.lines.join('\n') : answer
}

/** Fences as in Markdown: three or more of one mark open, at least as many of it close. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  let open: { block: Block; mark: string; indent: number } | undefined
  for (const line of text.split(/\r?\n/)) {
    const [, indent = '', mark = '', info = ''] = /^([ \t]*)(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (!open) {
      if (mark === '' || (mark.startsWith('`') && info.includes('`'))) continue
      const language = /^[\s{.]*([^\s}]*)/.exec(info)![1]!.toLowerCase()
      open = { block: { language, lines: [] }, mark, indent: indent.length }
      blocks.push(open.block)
    } else if (mark.startsWith(open.mark) && info.trim() === '') open = undefined
    else open.block.lines.push(withoutIndent(line, open.indent))
  }
  return blocks
}

/** A block inside of a list is indented as a whole. */
function withoutIndent(line: string, indent: number): string {
  let at = 0
  while (at < indent && (line[at] === ' ' || line[at] === '\t')) at += 1
  return line.slice(at)
}
