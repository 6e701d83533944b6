import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CascadeError } from '../../../topics/index.ts'
import { htmlReport } from './html.ts'
import { markdownReport } from './markdown.ts'
import type { Report } from './types.ts'

/** Names of the files that {@link writeReportFiles} writes into a run folder. */
export const reportFiles = ['report.json', 'report.md', 'report.html'] as const

/** Writes the report in its three forms; each file is there whole or as it was before. @throws `RUN_DIR_UNUSABLE` */
export async function writeReportFiles(dir: string, report: Report): Promise<void> {
  const texts = [`${JSON.stringify(report, null, 2)}\n`, markdownReport(report), htmlReport(report)]
  for (const [i, name] of reportFiles.entries()) {
    const temporary = join(dir, `.${name}.tmp`)
    try {
      await writeFile(temporary, texts[i]!)
      await rename(temporary, join(dir, name))
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new CascadeError('RUN_DIR_UNUSABLE', `${join(dir, name)}: cannot write the report: ${why}`, {
        cause,
      })
    }
  }
}
