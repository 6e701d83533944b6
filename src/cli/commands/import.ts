import { relative, resolve } from 'node:path'
import { Option } from 'commander'
import { CascadeError } from '../../../topics/index.ts'
import { formatNamed, formats } from '../../exchange/index.ts'
import type { Context, Register } from '../command.ts'
import { type Imported, importRun } from '../exchange/import-run.ts'
import { inputsOf } from '../exchange/inputs.ts'
import { faultLine } from '../exchange/read-rows.ts'
import { runsFolder } from '../open-run.ts'
import { byteSize, percent, rounded } from '../output/format.ts'
import { print } from '../output/print.ts'
import { longWork } from '../replay/progress.ts'
import { newRunId } from '../run/run-id.ts'

interface Flags {
  format: string
  in: string[]
  dir?: string
  domain: string
  verifier?: string
  skipBad?: true
  json?: true
}

export const register: Register = (program, context) => {
  const names = formats.map((f) => f.name)
  const list = formats.map((f) => `\n  ${f.name.padEnd(12)}${f.summary}`).join('')
  program
    .command('import')
    .description(
      'Take over rollouts that another program wrote, as a run that topics, replay and export read.',
    )
    .addOption(new Option('--format <format>', 'what the files are').choices(names).makeOptionMandatory())
    .requiredOption('--in <path...>', 'files, or folders of .jsonl files; those ending in .gz are unpacked')
    .option('--dir <run>', 'folder of the new run (default: runs/<time>)')
    .option('--domain <name>', 'domain of the rollouts: they become rollouts.<name>', 'imported')
    .option('--verifier <name>', "who gave the rewards, where rows do not say (default: the format's name)")
    .option('--skip-bad', 'leave out malformed lines, and report them, instead of ending at the first')
    .option('--json', 'one JSON object')
    .addHelpText(
      'after',
      `\nFormats:${list}\n\nExamples:\n  $ cascade import --format verl --in dump/ --domain math --dir runs/theirs\n  $ cascade replay runs/theirs --topic rollouts.math --mode rescored --verifier ./strict.ts --apply`,
    )
    .action((flags: Flags) => importRows(flags, context))
}

async function importRows(flags: Flags, context: Context): Promise<void> {
  const { cwd, signal, stderr, stdout } = context
  const { domain, skipBad = false } = flags
  const format = formatNamed(flags.format)
  if (!/^[a-z0-9][a-z0-9-]*$/.test(domain)) {
    throw new CascadeError(
      'USAGE',
      `--domain: expected lower-case letters, digits and hyphens, got ${domain}`,
    )
  }
  const verifier = flags.verifier ?? format.name
  if (verifier === '') throw new CascadeError('USAGE', '--verifier: expected a name, got an empty text')
  const inputs = await inputsOf(flags.in, cwd)
  const runs = resolve(cwd, runsFolder)
  const dir = flags.dir === undefined ? resolve(runs, newRunId(runs, new Date())) : resolve(cwd, flags.dir)
  const began = performance.now()
  let imported: Imported
  {
    using work = longWork(stderr)
    imported = await importRun({
      format,
      files: inputs.files,
      cwd,
      dir,
      domain,
      verifier,
      skipBad,
      signal,
      onProgress: (rollouts, bytes) =>
        work.at(
          `imported ${rollouts} rollouts, ${byteSize(bytes)} of ${byteSize(inputs.bytes)} (${percent(inputs.bytes === 0 ? 1 : bytes / inputs.bytes)}), ${rounded((rollouts * 1000) / (performance.now() - began))}/s`,
        ),
    })
  }
  const shown = relative(cwd, dir) || dir
  for (const fault of imported.reading.faults) stderr.write(`left out ${faultLine(fault)}\n`)
  const text = flags.json
    ? `${JSON.stringify(jsonOf(imported, { dir, format: format.name, domain }))}\n`
    : human(imported, { shown, domain, files: inputs.files.length })
  await print(stdout, text, signal)
}

function jsonOf(i: Imported, of: { dir: string; format: string; domain: string }) {
  const { reading, ...counts } = i
  return {
    ...of,
    ...counts,
    ignored: Object.fromEntries(reading.ignored),
    skipped: { lines: reading.skipped, first: reading.faults },
  }
}

function human(
  i: Imported,
  { shown, domain, files }: { shown: string; domain: string; files: number },
): string {
  const { reading } = i
  const mean = i.meanReward === null ? '' : `, mean score ${i.meanReward.toFixed(4)}`
  const ignored = [...reading.ignored].map(([name, n]) => `${name} (${n})`)
  const lines = [
    `${i.rollouts} rollouts of ${files} ${files === 1 ? 'file' : 'files'}: ${i.groups} groups, ${i.steps} steps, ${i.rewards} rewards${mean}`,
    ...(i.absent.length > 0 ? [`unknown, and marked as absent: ${i.absent.join(', ')}`] : []),
    ...(ignored.length > 0 ? [`fields not taken over: ${ignored.join(', ')}`] : []),
    ...(reading.skipped > 0 ? [`malformed lines left out: ${reading.skipped}`] : []),
    `run: ${shown}`,
    `next: cascade replay ${shown} --topic rollouts.${domain}`,
  ]
  return `${lines.join('\n')}\n`
}
