/** Notation that says nothing: sizes, spaces, wrappers, currencies, and other ways to write the same sign. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/\\\\(?=(?:[dtc]?frac|left|right|sqrt|text|boxed|le|ge|pi|times|cdot)\b)/g, '\\'],
  [/\\n(?![a-z])/g, ' '],
  [/(\d)(?:,\\!\s*|\s*\{\s*,\s*\}\s*|\\,|,\\,)(?=\d{3}(?!\d))/g, '$1'],
  [/\\(?:left|right|[bB]igg?[lr]?|middle)(?![a-zA-Z])\.?/g, ''],
  [/\\(?:displaystyle|textstyle|limits|nolimits|angle|triangle)(?![a-zA-Z])/g, ''],
  [/\\q?quad/g, ' '],
  [/(?<!\\)\\[!,;: >]/g, ' '],
  [/~/g, ' '],
  [/\\[dtc]frac(?![a-zA-Z])/g, '\\frac'],
  [/\\dbinom|\\tbinom/g, '\\binom'],
  [/\^\s*(?:\{\s*\\circ\s*\}|\\circ)|°|\\degree(?![a-zA-Z])/g, ' '],
  [/\\(?:mathbb|mathbf|mathcal|bf|rm|overrightarrow|overline|vec|mathit|boldsymbol)(?![a-zA-Z])/g, ''],
  [/\\(?:textbf|textit|textrm|mbox|hbox|textsf|mathrm|operatorname)\*?(?=\s*\{)/g, '\\text'],
  [/\\text\s*\{\s*(e|i)\s*\}/g, '$1'],
  [/\\\$|[$€£¥]|\\(?:euro|pounds|dollar)(?![a-zA-Z])/g, ' '],
  [/\\?%|(?<=\d[\s)}]*)(?:\\text\s*\{\s*)?(?:percentage|percent|pct)(?![a-z])(?:\s*\})?/g, '\\percent '],
  [/−|–/g, '-'],
  [/×|\\times(?![a-zA-Z])|·|⋅|\\cdot(?![a-zA-Z])|\*\*?/g, ' * '],
  [/÷|\\div(?![a-zA-Z])/g, ' / '],
  [/≤|\\(?:leqslant|leq|le)(?![a-zA-Z])|<=|=</g, ' \\le '],
  [/≥|\\(?:geqslant|geq|ge)(?![a-zA-Z])|>=/g, ' \\ge '],
  [/≠|\\(?:neq|ne)(?![a-zA-Z])|!=/g, ' \\ne '],
  [/\\lt(?![a-zA-Z])/g, ' < '],
  [/\\gt(?![a-zA-Z])/g, ' > '],
  [/±/g, '\\pm '],
  [/π/g, '\\pi '],
  [/√/g, '\\sqrt '],
  [/∞/g, '\\infty '],
  [/∪/g, '\\cup '],
  [/∈/g, '\\in '],
  [/²/g, '^2'],
  [/³/g, '^3'],
  [/½/g, '\\frac{1}{2}'],
  [/\\(?:lvert|rvert|vert)(?![a-zA-Z])/g, '|'],
]

const power = /\*\*/g

/** One answer in one notation; does not change what it says. */
export function clean(text: string): string {
  let s = text
    .replace(power, '^')
    .replace(/\\lbrace(?![a-zA-Z])/g, '\\{')
    .replace(/\\rbrace(?![a-zA-Z])/g, '\\}')
  for (const [from, to] of rules) s = s.replace(from, to)
  s = thousands(s)
  return s
    .replace(/\s+/g, ' ')
    .replace(/^[\s:]+|[\s.,;:]+$/g, '')
    .trim()
}

/** `1,234` is one number unless it stands in brackets, where commas separate items; `1 000` likewise. */
function thousands(text: string): string {
  const bracketed = /[([{]/.test(text)
  const s = bracketed
    ? text
    : text.replace(/(?<![\d,.])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])/g, (m) => m.replaceAll(',', ''))
  return s.replace(/^\s*-?\d{1,3}(?: \d{3})+(?:\.\d+)?\s*$/, (m) => m.replaceAll(' ', ''))
}

/** For answers that are no mathematics: letters and digits as they are, the rest of the notation gone. */
export function plain(text: string): string {
  return text
    .replace(/\\text\s*\{([^{}]*)\}/g, '$1')
    .replace(/[\s{}$]|\\[,;! ]/g, '')
    .replace(/^\(([A-Za-z])\)$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()
}
