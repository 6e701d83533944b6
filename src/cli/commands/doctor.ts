import { resolve } from 'node:path'
import type { Context, Register } from '../command.ts'
import { checkBroker } from '../doctor/broker.ts'
import type { Check } from '../doctor/check.ts'
import { checkEngine } from '../doctor/engine.ts'
import { checkSandbox } from '../doctor/sandbox.ts'
import { checkDisk, checkLog } from '../doctor/storage.ts'
import {
  checkCores,
  checkMemory,
  checkNode,
  checkPlatform,
  checkTerminal,
  checkTypeScript,
} from '../doctor/system.ts'
import { runsFolder } from '../open-run.ts'
import { print } from '../output/print.ts'
import { type Style, styleOf, wantsColor } from '../output/style.ts'

interface Flags {
  dir: string
  broker?: string
  json?: true
}

export const register: Register = (program, context) => {
  program
    .command('doctor')
    .description(
      'What this machine can do: execution providers, cores, memory, disk, broker. Exits with 1 only where a run cannot work.',
    )
    .option('--dir <folder>', 'where runs are to be written', runsFolder)
    .option('--broker <host:port>', 'a Kafka broker to reach (default: CASCADE_BROKER)')
    .option('--json', 'one JSON object: {ok, checks: [{name, status, detail, advice, facts}]}')
    .addHelpText('after', '\nExample:\n  $ cascade doctor --broker localhost:9092')
    .action((flags: Flags) => examine(flags, context))
}

async function examine(flags: Flags, context: Context): Promise<void> {
  const { stdout, env, signal } = context
  const runs = resolve(context.cwd, flags.dir)
  const checks = [
    checkPlatform(),
    checkNode(),
    checkTypeScript(),
    checkCores(),
    checkMemory(),
    await checkDisk(runs),
    await checkLog(runs),
    ...(await checkEngine()),
    await checkBroker(flags.broker ?? env.CASCADE_BROKER),
    checkSandbox(),
    checkTerminal(context),
  ]
  const ok = checks.every((c) => c.status !== 'fail')
  const style = styleOf(wantsColor(stdout, env))
  const text = flags.json
    ? JSON.stringify({ ok, checks })
    : [...checks.flatMap((c) => lines(c, style)), '', verdict(checks)].join('\n')
  await print(stdout, `${text}\n`, signal)
  if (!ok) context.exitWith(1)
}

function lines(check: Check, style: Style): string[] {
  const mark = { ok: style('green', '✓'), warn: style('yellow', '!'), fail: style('red', '✗') }[check.status]
  const name = check.name.padEnd(16)
  const first = `${mark} ${name} ${check.detail}`
  return check.advice ? [first, style('dim', `${' '.repeat(19)}${check.advice}`)] : [first]
}

function verdict(checks: readonly Check[]): string {
  const failed = checks.filter((c) => c.status === 'fail').map((c) => c.name)
  return failed.length === 0 ? 'A run works here.' : `A run does not work here: ${failed.join(', ')}.`
}
