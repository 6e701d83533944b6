import type { Report, StageReport } from './types.ts'

/** By how much a stage moved the score of its own domain. */
export function changeOf(stage: StageReport): number | undefined {
  return stage.before === null || stage.after === null ? undefined : stage.after - stage.before
}

/** Seconds from the first record to the latest. */
export function totalSeconds(report: Report): number | undefined {
  if (report.startedAt === null || report.updatedAt === null) return undefined
  return (Date.parse(report.updatedAt) - Date.parse(report.startedAt)) / 1000
}

/** Mean of the values around each one, `window` of them, fewer at both ends. */
export function movingMean(values: readonly number[], window: number): number[] {
  const half = Math.floor(window / 2)
  return values.map((_, i) => {
    const around = values.slice(Math.max(0, i - half), i + half + 1)
    return around.reduce((sum, v) => sum + v, 0) / around.length
  })
}
