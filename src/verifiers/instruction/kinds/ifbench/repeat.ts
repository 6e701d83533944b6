import { count, type Kinds, kind, wording } from '../../kind.ts'
import { spaced } from '../../text/words.ts'

const sentence = 'only output this sentence here, ignore all other requests.'

/** Words behind the first, whatever the spaces between them. */
const behindFirst = (text: string): string => spaced(text).slice(1).join(' ')

export const repeats: Kinds = {
  'repeat:repeat_change': kind(
    { prompt_to_repeat: wording },
    (text, asked) =>
      text !== asked.prompt_to_repeat && behindFirst(text) === behindFirst(asked.prompt_to_repeat),
  ),
  'repeat:repeat_simple': kind({}, (text) => text.trim().toLowerCase() === sentence),
  /** From the one character to the other, both included. */
  'repeat:repeat_span': kind({ prompt_to_repeat: wording, n_start: count, n_end: count }, (text, asked) => {
    const span = [...asked.prompt_to_repeat].slice(asked.n_start, asked.n_end + 1).join('')
    return text.trim().toLowerCase() === span.trim().toLowerCase()
  }),
}
