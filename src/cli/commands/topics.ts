import { type Command, InvalidArgumentError } from 'commander'
import type { Envelope } from '../../../streams/ports.ts'
import { CascadeError, type Topic, topicNamed, topicNames } from '../../../topics/index.ts'
import type { Context, Register } from '../command.ts'
import { namedRun, type OpenRun, withRun } from '../open-run.ts'
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
  follow?: true
  filter?: Filter[]
  json?: true
}

const jsonHelp =
  'one JSON object a line: {offset, timestamp, key, headers, value}; the default where the output is no terminal'

export const register: Register = (program, context) => {
  const topics = program
    .command('topics')
    .description('List, print and follow the topics of a run, also while it goes on.')
    .addHelpText(
      'after',
      '\nExamples:\n  $ cascade topics ls runs/first\n  $ cascade topics cat runs/first rewards.math --filter stage=math | jq .value.score\n  $ cascade topics tail runs/first updates --follow',
    )
  topics
    .command('ls')
    .description('every topic with its records, earliest and next offset, and bytes')
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .option('--json', 'one JSON object a line: {name, records, earliest, next, bytes}')
    .addHelpText('after', '\nExample:\n  $ cascade topics ls runs/first')
    .action((run: string | undefined, flags: { json?: true }) =>
      withRun(context, run, (open) => list(open, flags, context)),
    )
  reader(topics, 'cat', 'print the records of a topic, oldest first')
    .option('--from <place>', 'earliest, latest, an offset or an ISO time', 'earliest')
    .option('--to <place>', 'where to stop, not included: as for --from', 'latest')
    .addHelpText(
      'after',
      '\nExample:\n  $ cascade topics cat runs/first rollouts.math --filter step=3 --limit 5 --json',
    )
    .action((run: string | undefined, topic: string | undefined, flags: ReadFlags) =>
      withTopic(context, run, topic, (open, found) => cat(open, found, flags, context)),
    )
  reader(topics, 'tail', 'print the latest records of a topic, and with --follow the new ones as they come')
    .option('-n, --lines <n>', 'latest records to look at', wholeNumber, 10)
    .option('-f, --follow', 'go on until Ctrl-C, which is its normal end (exit code 0)')
    .addHelpText('after', '\nExample:\n  $ cascade topics tail runs/first updates -n 3 --follow')
    .action((run: string | undefined, topic: string | undefined, flags: ReadFlags) =>
      withTopic(context, run, topic, (open, found) => tail(open, found, flags, context)),
    )
}

function reader(topics: Command, name: string, description: string): Command {
  return topics
    .command(name)
    .description(description)
    .argument('[run]', 'run folder, or a name in runs/ (left out: the newest run there)')
    .argument('[topic]', 'such as control, updates, evaluations, rollouts.<domain>, rewards.<domain>.dlq')
    .option('--limit <n>', 'stop after this many records', wholeNumber)
    .option('--filter <field=value>', 'only records with this value; give it again for more', addFilter)
    .option('--json', jsonHelp)
}

/** Both words may be left out as far as it is clear what is meant: a single one that names no run is a topic. */
async function withTopic(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  use: (open: OpenRun, topic: Topic<unknown>) => Promise<void>,
): Promise<void> {
  const single = first !== undefined && second === undefined && namedRun(context, first) === undefined
  const [run, name] = single ? [undefined, first] : [first, second]
  await withRun(context, run, async (open) => {
    const names = await topicsOf(open)
    if (name === undefined)
      throw new CascadeError('USAGE', `expected a topic, one of ${names.join(', ')}, got none`)
    await use(open, topicNamed(name, names))
  })
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

async function cat(
  { log }: OpenRun,
  topic: Topic<unknown>,
  flags: ReadFlags,
  context: Context,
): Promise<void> {
  const from = await placeOf(log, topic.name, flags.from, '--from')
  // Fixed now: a run that goes on must not make this endless.
  const to = await placeOf(log, topic.name, flags.to, '--to')
  const { limit, filter: filters = [] } = flags
  await readRecords(log, topic, { from, to, limit, filters, signal: context.signal }, printer(flags, context))
}

async function tail(
  { log }: OpenRun,
  topic: Topic<unknown>,
  flags: ReadFlags,
  context: Context,
): Promise<void> {
  const [earliest, to] = [await log.offset(topic.name, 'earliest'), await log.offset(topic.name, 'latest')]
  const from = Math.max(earliest, to - flags.lines)
  const { limit, filter: filters = [], follow } = flags
  const range = follow ? { from } : { from, to }
  try {
    await readRecords(
      log,
      topic,
      { ...range, limit, filters, signal: context.signal },
      printer(flags, context),
    )
  } catch (error) {
    // Ctrl-C is how one leaves.
    if (!follow || !context.signal.aborted || error !== context.signal.reason) throw error
  }
}

function printer({ json }: ReadFlags, { stdout, signal }: Context) {
  const columns = stdout.columns ?? 160
  const text = json || !stdout.isTTY ? recordJson : (r: Envelope<unknown>) => recordLine(r, columns)
  return (record: Envelope<unknown>) => print(stdout, `${text(record)}\n`, signal)
}

/** Topics that the run has, or that its stages will write. */
async function topicsOf({ log, manifest }: OpenRun): Promise<string[]> {
  const domains = manifest.config.stages.filter((s) => s.kind === 'rl').map((s) => s.domain)
  const existing = (await log.topics()).map((t) => t.name)
  return [...new Set([...topicNames(domains), ...existing])].sort()
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('expected a whole number')
  return Number(text)
}

function addFilter(text: string, before: readonly Filter[] = []): Filter[] {
  try {
    return [...before, filterOf(text)]
  } catch (error) {
    if (error instanceof CascadeError) throw new InvalidArgumentError(error.message)
    throw error
  }
}
