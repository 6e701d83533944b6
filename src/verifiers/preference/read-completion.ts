import { z } from 'zod'

const completion = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string() }) })).min(1),
})
const graded = z.looseObject({ score: z.number(), reason: z.string().optional() })

/** The score in a chat completion, or what is wrong with it. */
export function readCompletion(
  body: unknown,
  [min, max]: readonly [number, number],
): { score: number; reason?: string } | string {
  const parsed = completion.safeParse(body)
  if (!parsed.success) {
    return `expected a chat completion, got ${JSON.stringify(body)?.slice(0, 200)}`
  }
  const { content } = parsed.data.choices[0]!.message
  const answer = content.slice(content.lastIndexOf('</think>') + 1)
  const grade = graded.safeParse(lastObject(answer))
  if (!grade.success) return `expected a JSON object with a score, got ${JSON.stringify(content.slice(-200))}`
  const { score, reason } = grade.data
  if (score < min || score > max) return `expected a score from ${min} to ${max}, got ${score}`
  return { score, reason }
}

/** The last JSON object of a text that ends at its last brace: models put fences and words around one. */
function lastObject(text: string): unknown {
  const end = text.lastIndexOf('}')
  let tries = 0
  // Bounded: a text of braces alone would take quadratic time.
  for (let at = text.lastIndexOf('{', end); at >= 0 && tries < 64; at = text.lastIndexOf('{', at - 1)) {
    tries += 1
    try {
      return JSON.parse(text.slice(at, end + 1))
    } catch {
      if (at === 0) break
    }
  }
  return undefined
}
