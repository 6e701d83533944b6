import { z } from 'zod'

/** One verifiable instruction: what it needs to be told, and whether a text follows it. */
export interface InstructionKind {
  /** Refuses unknown and missing arguments. */
  readonly kwargs: z.ZodType
  /** `kwargs` as {@link kwargs} parsed them. Takes time linear in the text's length and never throws for what the text holds. */
  follows(text: string, kwargs: unknown): boolean
}

export type Kinds = Readonly<Record<string, InstructionKind>>

/** Ties the check's arguments to their schema. */
export function kind<S extends z.ZodRawShape>(
  shape: S,
  follows: (text: string, kwargs: z.output<z.ZodObject<S, z.core.$strict>>) => boolean,
): InstructionKind {
  const kwargs = z.strictObject(shape)
  return {
    kwargs,
    follows: (text, given) => follows(text, given as z.output<typeof kwargs>),
  }
}

/** The two relations of IFEval; any other is an error of the task. */
export const relation = z.enum(['less than', 'at least'])

export function compare(count: number, how: z.infer<typeof relation>, threshold: number): boolean {
  return how === 'less than' ? count < threshold : count >= threshold
}

export const count = z.int().min(0)
export const ordinal = z.int().min(1)
/** Text to find: a blank one would be found anywhere. */
export const wording = z.string().refine((text) => text.trim() !== '', 'expected more than spaces')
/** Words to look for are short: the search is linear in the text only for a needle of bounded length. */
export const phrase = wording.max(500)
export const percentage = z.number().min(0).max(100)
