import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { CascadeError } from '../../../topics/index.ts'
import type { KindEntry } from '../../verifiers/kinds.ts'
import type { Context } from '../command.ts'

/** Flags that only some kinds understand, by the name that kinds know them by. */
const flags: readonly KindFlag[] = [
  { name: 'bare', option: '--bare', means: "math: a response is the answer's expression alone" },
  {
    name: 'share',
    option: '--share',
    means: 'instruction: the share of instructions that are followed is the score',
  },
  { name: 'partial', option: '--partial', means: 'code: the share of tests that pass is the score' },
  {
    name: 'sandbox',
    option: '--sandbox <layer>',
    means: 'code: wasm, bubblewrap, piston or sandboxfusion',
  },
  {
    name: 'sandboxUrl',
    option: '--sandbox-url <url>',
    means: 'code: where the server of piston or sandboxfusion is',
  },
  {
    name: 'model',
    option: '--model <path>',
    means: 'preference: the folder of the reward model',
    path: true,
  },
  {
    name: 'embedding',
    option: '--embedding <path>',
    means: 'patch: folder of an ONNX embedding model that compares meanings',
    path: true,
  },
  {
    name: 'pooling',
    option: '--pooling <how>',
    means: 'with --embedding: mean or cls, if not as the model says',
  },
  {
    name: 'semanticWeight',
    option: '--semantic-weight <share>',
    means: 'with --embedding: the weight of meaning beside wording, 0 to 1',
    parse: share,
  },
  {
    name: 'judgeUrl',
    option: '--judge-url <url>',
    means: 'patch: an OpenAI-compatible endpoint to ask, up to /v1',
  },
  { name: 'judgeModel', option: '--judge-model <name>', means: 'with --judge-url: the model to ask there' },
  {
    name: 'judgeKeyEnv',
    option: '--judge-key-env <name>',
    means: 'with --judge-url: the environment variable that holds the key',
  },
]

interface KindFlag {
  readonly name: string
  readonly option: string
  readonly means: string
  /** Its value is a path, which starts at the folder of the call. */
  readonly path?: true
  parse?(text: string): unknown
}

export function addKindFlags(command: Command): void {
  for (const { option, means, parse } of flags) {
    if (parse) command.option(option, means, parse)
    else command.option(option, means)
  }
}

/** @throws CascadeError USAGE for a flag that this kind has no use for, or whose environment variable is not set */
export function flagsOf(
  entry: KindEntry,
  given: Readonly<Record<string, unknown>>,
  { cwd, env }: Pick<Context, 'cwd' | 'env'>,
): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const { name, option, path } of flags) {
    const value = given[name]
    if (value === undefined) continue
    if (!entry.flags.includes(name)) {
      const own = flags.filter((flag) => entry.flags.includes(flag.name)).map((flag) => bareOf(flag.option))
      const expected = own.join(', ') || 'no flag of its own'
      throw new CascadeError('USAGE', `${bareOf(option)}: ${entry.name}: expected ${expected}`)
    }
    if (name === 'judgeKeyEnv') found.judgeKey = keyIn(env, value as string)
    else found[name] = path ? resolve(cwd, value as string) : value
  }
  return found
}

function bareOf(option: string): string {
  return option.split(' ')[0]!
}

function keyIn(env: Context['env'], name: string): string {
  const key = env[name]
  if (key) return key
  throw new CascadeError('USAGE', `--judge-key-env: expected the name of a variable that is set, got ${name}`)
}

function share(text: string): number {
  if (/^(0(\.\d+)?|1(\.0+)?)$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a number from 0 to 1, got ${text}`)
}
