import type { ModelConfig } from '../../src/model/config.ts'
import type { Engine, GeneratedRow } from '../../src/model/engine/index.ts'

/** Groups of 8 over made-up prompts, as the benches of decoding and of a whole step share them. */

export const groupSize = 8
/** Tokens of a prompt where nothing else is said. */
export const promptLength = 16

export interface Workload {
  groups: number
  newTokens: number
  /** @default {@link promptLength} */
  promptTokens?: number
  topP: number
  /** Groups of another round have other noise. */
  round: number
}

export function prompt(config: ModelConfig, group: number, length = promptLength): Int32Array {
  return Int32Array.from({ length }, (_, i) => 3 + ((i * 31 + group * 17) % (config.vocab_size - 3)))
}

/** The rows of every group, all of `newTokens` tokens: nothing stops them earlier. */
export async function sampleGroups(engine: Engine, w: Workload): Promise<GeneratedRow[][]> {
  const signal = new AbortController().signal
  const rows = Array.from({ length: w.groups }, (): GeneratedRow[] => [])
  const sampling = {
    temperature: 1,
    topP: w.topP,
    topK: 0,
    maxTokens: w.newTokens,
    stopTokens: [],
    logprobsMode: 'processed' as const,
  }
  await Promise.all(
    rows.map((group, g) => {
      const seed = { run: 1, stage: 'bench', admission: w.round * w.groups + g }
      const request = { prompt: prompt(engine.config, g, w.promptTokens), rows: groupSize, sampling, seed }
      return engine.generate(
        request,
        (index, row) => {
          group[index] = row
        },
        signal,
      )
    }),
  )
  return rows
}
