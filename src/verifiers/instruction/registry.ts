import type { InstructionKind, Kinds } from './kind.ts'
import { counts } from './kinds/ifbench/count.ts'
import { custom } from './kinds/ifbench/custom.ts'
import { formats } from './kinds/ifbench/format.ts'
import { ratios } from './kinds/ifbench/ratio.ts'
import { repeats } from './kinds/ifbench/repeat.ts'
import { sentenceKinds } from './kinds/ifbench/sentence.ts'
import { wordKinds } from './kinds/ifbench/words.ts'
import { content } from './kinds/ifeval/content.ts'
import { format } from './kinds/ifeval/format.ts'
import { keywords } from './kinds/ifeval/keywords.ts'
import { length } from './kinds/ifeval/length.ts'

/** Every instruction by its id: the 25 of IFEval, then the 58 of IFBench. */
export const instructionKinds: Kinds = {
  ...keywords,
  ...length,
  ...format,
  ...content,
  ...counts,
  ...ratios,
  ...wordKinds,
  ...sentenceKinds,
  ...formats,
  ...repeats,
  ...custom,
}

export function instructionOf(id: string): InstructionKind | undefined {
  return Object.hasOwn(instructionKinds, id) ? instructionKinds[id] : undefined
}
