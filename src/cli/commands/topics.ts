import { InvalidArgumentError } from 'commander'
import { CascadeError, type Topic, topicNamed, topicNames } from '../../../topics/index.ts'
import type { Context, Register } from '../command.ts'
import { type OpenRun, withRun } from '../open-run.ts'
import { byteSize } from '../output/format.ts'
import { print } from '../output/print.ts'
import { recordJson, recordLine } from '../output/record.ts'
import { table } from '../output/table.ts'
import { type Filter, filterOf, placeOf, readRecords } from '../read-records.ts'

interface ReadFlags {
  from: string
  to: string
  limit?: number
  lines: number
  filter: Filter[]
  json?: true
}

export const register: Register = (program, context) => {
  const topics = program
    .command('topics')
    .description('List, print and follow the topics of a run, also while it goes on.')
    .addHelpText(
      'after',
      '\nExamples:\n  $ cascade topics ls runs/first\n  $ cascade topics cat runs/first rewards.math --filter stage=math --json | jq .value.score\n  $ cascade topics tail runs/first updates',
    )
  topics
    .command('ls')
    .description(
      'name, records, earliest and next offset, and bytes of every topic; one JSON object a line with --json',
    )
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .option('--json', 'one JSON object a line')
    .addHelpText('after', '\nExample:\n  $ cascade topics ls runs/first')
    .action((run: string | undefined, flags: { json?: true }) =>
      withRun(context, run, (open) => list(open, flags, context)),
    )
  topics
    .command('cat')
    .description('print the records of a topic, oldest first')
    .argument('<run>', 'run folder, or a name in runs/')
    .argument('<topic>', 'such as control, updates, evaluations, rollouts.<domain>, rewards.<domain>.dlq')
    .option('--from <place>', 'earliest, latest, an offset or an ISO time', 'earliest')
    .option('--to <place>', 'where to stop, not included: as for --from', 'latest')
    .option('--limit <n>', 'records at most', wholeNumber)
    .option('--filter <field=value>', 'only records with this value; give it again for more', addFilter, [])
    .option('--json', 'one JSON object a line: {offset, timestamp, key, headers, value}')
    .addHelpText(
      'after',
      '\nExample:\n  $ cascade topics cat runs/first rollouts.math --filter step=3 --limit 5 --json',
    )
    .action((run: string, topic: string, flags: ReadFlags) =>
      withRun(context, run, (open) => cat(open, topic, flags, context)),
    )
  topics
    .command('tail')
    .description('print the latest records of a topic, then new ones as they come, until Ctrl-C')
    .argument('<run>', 'run folder, or a name in runs/')
    .argument('<topic>', 'such as control, updates, evaluations, rollouts.<domain>')
    .option('-n, --lines <n>', 'latest records to begin with', wholeNumber, 10)
    .option('--limit <n>', 'stop after this many records', wholeNumber)
    .option('--filter <field=value>', 'only records with this value; give it again for more', addFilter, [])
    .option('--json', 'one JSON object a line: {offset, timestamp, key, headers, value}')
    .addHelpText('after', '\nExample:\n  $ cascade topics tail runs/first updates -n 3')
    .action((run: string, topic: string, flags: ReadFlags) =>
      withRun(context, run, (open) => tail(open, topic, flags, context)),
    )
}

async function list({ log }: OpenRun, { json }: { json?: true }, { stdout, signal }: Context): Promise<void> {
  const rows = (await log.topics())
    .map(({ name, earliest, next, bytes }) => ({ name, records: next - earliest, earliest, next, bytes }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const right = ['records', 'earliest', 'next', 'bytes'].map((title) => ({ title, align: 'right' as const }))
  const lines = json
    ? rows.map((row) => JSON.stringify(row))
    : table(
        [{ title: 'topic' }, ...right],
        rows.map((r) => [r.name, String(r.records), String(r.earliest), String(r.next), byteSize(r.bytes)]),
      )
  await print(stdout, lines.map((line) => `${line}\n`).join(''), signal)
}

async function cat(open: OpenRun, name: string, flags: ReadFlags, context: Context): Promise<void> {
  const { log } = open
  const topic = await topicOf(open, name)
  const from = await placeOf(log, name, flags.from, '--from')
  // Fixed now: a run that goes on must not make this endless.
  const to = await placeOf(log, name, flags.to, '--to')
  const { limit, filter: filters } = flags
  await readRecords(log, topic, { from, to, limit, filters, signal: context.signal }, printer(flags, context))
}

async function tail(open: OpenRun, name: string, flags: ReadFlags, context: Context): Promise<void> {
  const { log } = open
  const topic = await topicOf(open, name)
  const [earliest, latest] = [await log.offset(name, 'earliest'), await log.offset(name, 'latest')]
  const from = Math.max(earliest, latest - flags.lines)
  const { limit, filter: filters } = flags
  try {
    await readRecords(log, topic, { from, limit, filters, signal: context.signal }, printer(flags, context))
  } catch (error) {
    // Ctrl-C is how one leaves.
    if (error !== context.signal.reason || !context.signal.aborted) throw error
  }
}

function printer(flags: ReadFlags, { stdout, signal }: Context) {
  const columns = stdout.columns ?? 160
  return (record: Parameters<typeof recordJson>[0]) =>
    print(stdout, `${flags.json ? recordJson(record) : recordLine(record, columns)}\n`, signal)
}

/** A topic that the run has, or that its stages will write. */
async function topicOf({ log, manifest }: OpenRun, name: string): Promise<Topic<unknown>> {
  const domains = manifest.config.stages.filter((s) => s.kind === 'rl').map((s) => s.domain)
  const existing = (await log.topics()).map((t) => t.name)
  return topicNamed(name, [...new Set([...topicNames(domains), ...existing])].sort())
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('expected a whole number')
  return Number(text)
}

function addFilter(text: string, before: readonly Filter[]): Filter[] {
  try {
    return [...before, filterOf(text)]
  } catch (error) {
    if (error instanceof CascadeError) throw new InvalidArgumentError(error.message)
    throw error
  }
}
