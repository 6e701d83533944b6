import { openLog } from '../../log/index.ts'
import { logFolder, runningProcess } from '../open-run.ts'
import { readManifest } from '../run-folder.ts'
import { computeReport } from './compute.ts'
import type { Report } from './types.ts'
import { writeReportFiles } from './write.ts'

export { type ComputeOptions, computeReport } from './compute.ts'
export { terminalReport } from './terminal.ts'
export type * from './types.ts'
export { reportFiles, writeReportFiles } from './write.ts'

/**
 * Computes the report of the run in `dir` and writes `report.json`, `report.md` and `report.html` there. The
 * process that writes the run may call it as well.
 *
 * @throws `RUN_NOT_FOUND`, `RUN_DIR_UNUSABLE`
 */
export async function writeReport(dir: string): Promise<Report> {
  const manifest = await readManifest(dir)
  const running = (await runningProcess(dir)) !== undefined
  const log = await openLog({ dir: logFolder(dir), mode: 'read', clock: { now: () => Date.now() } })
  try {
    const report = await computeReport(log, manifest, { running })
    await writeReportFiles(dir, report)
    return report
  } finally {
    await log.close()
  }
}
