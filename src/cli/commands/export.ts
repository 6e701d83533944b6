import { relative, resolve } from 'node:path'
import { Option } from 'commander'
import { CascadeError, rlDomains, type StageSpec } from '../../../topics/index.ts'
import { formatNamed, formats } from '../../exchange/index.ts'
import type { Context, Register } from '../command.ts'
import { type ExportCounts, exportRows } from '../exchange/export-rows.ts'
import { fileSink, outputSink, parquetSink, type Sink } from '../exchange/sinks.ts'
import { withRun } from '../open-run.ts'
import { print } from '../output/print.ts'
import { type FilterFlags, filterOf, verdicts } from '../replay/filter.ts'
import { longWork } from '../replay/progress.ts'
import { domainOf, rangeOf } from '../replay/range.ts'

interface Flags extends FilterFlags {
  format: string
  out: string
  topic?: string
  from: string
  to: string
  json?: true
}

const parquet = 'parquet'

export const register: Register = (program, context) => {
  const names = [...formats.map((f) => f.name), parquet]
  const list = formats.map((f) => `\n  ${f.name.padEnd(12)}${f.summary}`).join('')
  program
    .command('export')
    .description('Write the rollouts of a run, with their rewards, as rows that another program reads.')
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .addOption(new Option('--format <format>', 'what to write').choices(names).makeOptionMandatory())
    .requiredOption(
      '--out <file>',
      'where rows go: - is the standard output; packed where the name ends in .gz',
    )
    .option('--topic <topic>', 'rollouts.<domain>; may be left out where the run has one domain')
    .option('--from <place>', 'earliest, an offset, an ISO time, stage:NAME or step:STAGE/N', 'earliest')
    .option('--to <place>', 'the same; an offset or a time is not included, a stage or a step is', 'latest')
    .addOption(new Option('--verdict <kind>', 'only these').choices(verdicts))
    .option('--verifier <name>', 'only what it judged, as NAME or NAME@VERSION')
    .option('--reward <min..max>', 'only rewards in this range')
    .option('--prompt <id>', 'only rollouts of this prompt')
    .option('--json', 'counts as one JSON object')
    .addHelpText(
      'after',
      `\nFormats:${list}\n  ${parquet.padEnd(12)}one rollout a row, tokens and log-probabilities as lists\n\nExample:\n  $ cascade export runs/first --format parquet --topic rollouts.math --reward 0.5.. --out good.parquet`,
    )
    .action((run: string | undefined, flags: Flags) => exportRun(run, flags, context))
}

async function exportRun(run: string | undefined, flags: Flags, context: Context): Promise<void> {
  const { cwd, signal, stderr, stdout } = context
  const toStdout = flags.out === '-'
  if (toStdout && flags.format === parquet) {
    throw new CascadeError(
      'USAGE',
      '--out: expected a file for parquet, which is not written in order, got -',
    )
  }
  const format = flags.format === parquet ? undefined : formatNamed(flags.format)
  const file = resolve(cwd, flags.out)
  // Before the output is opened.
  filterOf(flags)
  await withRun(context, run, async (open) => {
    const { stages } = open.manifest.config
    const range = await rangeOf(open.log, domainOf(topicOf(flags, stages), stages), stages, flags)
    await using sink: Sink = !format
      ? parquetSink(file)
      : toStdout
        ? outputSink(format, stdout, signal)
        : fileSink(format, file, signal)
    let counts: ExportCounts
    {
      using work = longWork(stderr)
      counts = await exportRows(open, range, sink, {
        ...flags,
        scoredOnly: format?.scoredOnly ?? false,
        signal,
        onProgress: (offset) => work.at(`exporting ${range.topic.name}: offset ${offset} of ${range.to}`),
      })
      await sink.finish()
    }
    const out = toStdout ? '-' : file
    const text = flags.json
      ? `${JSON.stringify({ run: open.manifest.runId, topic: range.topic.name, from: range.from, to: range.to, format: flags.format, out, ...counts })}\n`
      : `${human(counts, flags.format)}${toStdout ? '' : `file: ${relative(cwd, file) || file}\n`}`
    await print(toStdout ? stderr : stdout, text, signal)
  })
}

/** The one that the run has, where it has one. */
function topicOf({ topic }: Flags, stages: readonly StageSpec[]): string {
  if (topic !== undefined) return topic
  const domains = rlDomains(stages)
  if (domains.length === 1) return `rollouts.${domains[0]}`
  throw new CascadeError(
    'USAGE',
    `--topic: expected one of ${domains.map((d) => `rollouts.${d}`).join(', ') || 'none, as the run has no RL stage'}, got none`,
  )
}

function human(c: ExportCounts, format: string): string {
  const unscored =
    c.unscored > 0 ? `without a score, which ${format} rows need: ${c.unscored} rollouts left out\n` : ''
  return `${c.rollouts} rollouts of ${c.groups} groups written, ${c.filtered} filtered out\n${unscored}`
}
