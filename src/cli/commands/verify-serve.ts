import { availableParallelism } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { CascadeError } from '../../../topics/index.ts'
import { openCaseJudge } from '../../verifiers/case-judge.ts'
import type { Case, CaseKind, KindFlags } from '../../verifiers/case-kind.ts'
import { type KindEntry, kindNamed, kinds } from '../../verifiers/kinds.ts'
import { servedKind, serveVerifier } from '../../verifiers/remote/index.ts'
import type { Context } from '../command.ts'
import { print } from '../output/print.ts'
import { flagsOf } from '../verify/kind-flags.ts'

/** Requests of one array in work for each judging process: few, since the time of a judgement includes its wait for a process. */
const ahead = 8

interface Flags extends Record<string, unknown> {
  host: string
  port: number
  jobs: number
  timeout: number
  memory: number
  json?: true
}

/** `cascade verify serve`: one kind as a reward server, until Ctrl-C. */
export function registerServe(verify: Command, context: Context): void {
  verify
    .command('serve')
    .description('Serve a verifier over HTTP as a reward server, until Ctrl-C (exit code 0).')
    .argument('<kind>', `one of ${kinds.map((kind) => kind.name).join(', ')}`)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 is a free one', port, 8000)
    .option('--jobs <n>', 'judging processes', wholeNumber, availableParallelism())
    .option('--timeout <ms>', 'a judgement that takes longer is an error', wholeNumber, 10_000)
    .option('--memory <mb>', 'memory of a judging process', wholeNumber, 1_024)
    .option('--json', 'one JSON object once it listens: {url, verifier, version}')
    .addHelpText(
      'after',
      `\nPOST / {prompt, response, label} answers with the score, POST /verdict with the verdict; an array gets an array. GET /health.\n\nOptions of a kind (\`cascade verify --help\`) are taken here as well.\n\nExample:\n  $ cascade verify serve patch --port 8000\n  $ curl -d '{"response": "…", "label": {…}}' http://127.0.0.1:8000/`,
    )
    .action((name: string, _: unknown, command: Command) =>
      serve(kindNamed(name), command.optsWithGlobals<Flags>(), context),
    )
}

async function serve(entry: KindEntry, flags: Flags, context: Context): Promise<void> {
  const { signal, stdout, stderr } = context
  const own = flagsOf(entry, flags, context)
  const kind = await pooled(entry, own, flags)
  const label = entry.label === undefined ? {} : { labelField: entry.label }
  const response = entry.response === undefined ? {} : { responseField: entry.response }
  const served = await servedKind(kind, { jobs: flags.jobs, flags: own, ...label, ...response })
  const { host, port: wanted } = flags
  const window = flags.jobs * ahead
  const server = await serveVerifier(served, { host, port: wanted, window }).catch(async (cause: unknown) => {
    await served[Symbol.asyncDispose]()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CascadeError(
      'USAGE',
      `--port: expected an address that is free, got ${host}:${wanted}: ${reason}`,
      {
        cause,
      },
    )
  })
  await using _ = server
  const { url } = server
  const { name: verifier, version } = kind
  const text = flags.json
    ? JSON.stringify({ url, verifier, version })
    : `${verifier} ${version} at ${url}; Ctrl-C ends it`
  await print(stdout, `${text}\n`, signal)
  if (!signal.aborted) {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  if (!flags.json) await print(stderr, 'finishing what is in work\n', new AbortController().signal)
}

/** The kind, judged in processes of their own. */
async function pooled(entry: KindEntry, own: KindFlags, flags: Flags): Promise<CaseKind<Case>> {
  const kind = await entry.load()
  return {
    ...kind,
    async open({ jobs }) {
      const limits = { wallMs: flags.timeout, memoryMb: flags.memory }
      const judge = await openCaseJudge(entry, { flags: own, jobs, limits })
      return {
        judge: async (given, signal) => (await judge.submit(given, signal)).verdict,
        [Symbol.asyncDispose]: () => judge[Symbol.asyncDispose](),
      }
    },
  }
}

function port(text: string): number {
  if (/^[0-9]{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError(`expected a number from 0 to 65535, got ${text}`)
}

function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a whole number above 0, got ${text}`)
}
