import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Files of a verifier in a folder of their own; the folder. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'verifier-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  return dir
}

export const strict = {
  'strict.ts': `
    import { ends } from './helper.ts'
    export const version = '2-strict'
    export const samples = {
      good: [{ response: '=7', truth: '7' }],
      bad: [{ response: '=8', truth: '7' }, { response: '', truth: '7' }],
    }
    export default (options: { scale?: number } | null) => (response: string, truth: unknown): number =>
      ends(response, String(truth)) ? (options?.scale ?? 1) : 0
  `,
  'helper.ts': "export const ends = (text: string, end: string): boolean => text.endsWith('=' + end)\n",
}
