import type { Context, Register } from '../command.ts'
import { type OpenRun, runningProcess, withRun } from '../open-run.ts'
import { print } from '../output/print.ts'
import { styleOf, wantsColor } from '../output/style.ts'
import { computeReport, reportFiles, terminalReport, writeReportFiles } from '../report/index.ts'

interface Flags {
  write?: true
  json?: true
}

export const register: Register = (program, context) => {
  program
    .command('report')
    .description(
      'What a run has reached, computed from its log: scores of every domain after every stage, reward curves, what became of the rollouts.',
    )
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .option('--write', `write ${reportFiles.join(', ')} into the run folder as well`)
    .option('--json', 'one JSON object: {stages, matrix, intervals, fates, curves, seed, version, status, …}')
    .addHelpText('after', '\nExample:\n  $ cascade report runs/first --json | jq .matrix')
    .action((run: string | undefined, flags: Flags) =>
      withRun(context, run, (open) => show(open, flags, context)),
    )
}

async function show(
  { dir, log, manifest }: OpenRun,
  flags: Flags,
  { stdout, env, signal }: Context,
): Promise<void> {
  const running = (await runningProcess(dir)) !== undefined
  const report = await computeReport(log, manifest, { running, signal })
  if (flags.write) await writeReportFiles(dir, report)
  const style = styleOf(wantsColor(stdout, env))
  const text = flags.json
    ? `${JSON.stringify(report)}\n`
    : terminalReport(report, { style, columns: stdout.columns ?? 100 })
  await print(stdout, text, signal)
}
