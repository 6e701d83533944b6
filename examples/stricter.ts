/** A verifier of one's own: the answer must stand behind the last `=`, and nothing behind it. */

export const version = '1'

export const samples = {
  good: [{ response: '7+5=12', truth: '12' }],
  bad: [
    { response: '7+5=13', truth: '12' },
    { response: '12', truth: '12' },
  ],
}

/** With `partial`, a response that works something out at least gets that much. */
export default ({ partial = 0 }: { partial?: number } = {}) =>
  (response: string, truth: unknown): number => {
    if (response.endsWith(`=${String(truth)}`)) return 1
    return response.includes('=') ? partial : 0
  }
