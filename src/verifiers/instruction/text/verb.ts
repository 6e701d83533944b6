import { createRequire } from 'node:module'

/** The tagger sees the start of the first sentence only: enough to tell its first word. */
const seen = 200

let tagger: typeof import('compromise/two').default | undefined

/** Whether the first word is a verb. The tagger's lexicon is read at the first question: most runs ask none. */
export function startsWithVerb(text: string): boolean {
  tagger ??= createRequire(import.meta.url)('compromise/two') as typeof import('compromise/two').default
  return tagger(text.trim().slice(0, seen)).terms().first().has('#Verb')
}
