import { type Command, InvalidArgumentError } from 'commander'
import type { Register } from '../command.ts'
import { jsonOption } from '../json-option.ts'
import { withRun } from '../open-run.ts'
import { change, stage } from '../verifiers/change.ts'
import { diff } from '../verifiers/diff.ts'
import { list } from '../verifiers/list.ts'

const runHelp = 'run folder, or a name in runs/'

export const register: Register = (program, context) => {
  const verifiers = program
    .command('verifiers')
    .description('Stage, compare, promote and roll back verifiers of a run that is going on.')
    .addHelpText(
      'after',
      '\nExamples:\n  $ cascade verifiers stage runs/first stricter.ts --as sum\n  $ cascade verifiers diff runs/first\n  $ cascade verifiers promote runs/first --after 500 --max-flips 2%\n  $ cascade verifiers rollback runs/first',
    )
  common(verifiers, 'ls', 'the versions of every verifier that this run has seen')
    .addHelpText('after', '\nExample:\n  $ cascade verifiers ls runs/first')
    .action((run: string, flags) => withRun(context, run, (open) => list(open, flags, context)))
  timed(common(verifiers, 'stage', 'a candidate, which judges beside the active version without effect'))
    .argument(
      '<module>',
      'a TypeScript or JavaScript file, or an npm module, that exports judge(response, truth)',
    )
    .requiredOption('--as <name>', 'the verifier that it is a version of, as prompts name it')
    .option('--options <json>', 'handed to the function that it exports by default', jsonOption)
    .addHelpText('after', '\nExample:\n  $ cascade verifiers stage runs/first stricter.ts --as sum')
    .action((run: string, module: string, flags) =>
      withRun(context, run, (open) => stage(open, module, flags, context)),
    )
  ruled(timed(common(verifiers, 'promote', 'the staged version: it judges groups that have no verdict yet')))
    .addHelpText('after', '\nExample:\n  $ cascade verifiers promote runs/first --after 500 --max-flips 2%')
    .action((run: string, flags) => withRun(context, run, (open) => change(open, 'promote', flags, context)))
  for (const [action, text] of [
    ['rollback', 'the active version: the one before it judges again'],
    ['withdraw', 'the staged version'],
  ] as const) {
    timed(common(verifiers, action, text))
      .option('--verifier <name>', 'of which verifier (default: the only one that it can mean)')
      .addHelpText('after', `\nExample:\n  $ cascade verifiers ${action} runs/first`)
      .action((run: string, flags) => withRun(context, run, (open) => change(open, action, flags, context)))
  }
  common(verifiers, 'diff', 'what a staged version says otherwise than the active one, rollout by rollout')
    .option('-f, --follow', 'go on until Ctrl-C')
    .addHelpText('after', '\nExample:\n  $ cascade verifiers diff runs/first --follow')
    .action((run: string, flags) => withRun(context, run, (open) => diff(open, flags, context)))
}

function common(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .argument('<run>', runHelp)
    .option('--json', 'one JSON object a line')
}

function timed(command: Command): Command {
  return command.option('--timeout <seconds>', 'how long to wait for the effect', seconds, 10)
}

function ruled(command: Command): Command {
  return command
    .option('--verifier <name>', 'of which verifier (default: the only one that has a staged version)')
    .option('--after <rollouts>', 'not at once, but when both have judged so many', wholeNumber)
    .option('--max-flips <share>', 'with --after: withdraw it instead where more flip', share)
    .option('--max-errors <share>', 'with --after: the same for errors (default: 0)', share)
}

function seconds(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= 2e6) return value
  throw new InvalidArgumentError('expected seconds above 0, at most 2000000.')
}

function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a whole number above 0, got ${text}`)
}

/** `2%` or `0.02`. */
function share(text: string): number {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text)
  if (text.trim() !== '' && value >= 0 && value <= 1) return value
  throw new InvalidArgumentError(`expected a share such as 2% or 0.02, got ${text}`)
}
