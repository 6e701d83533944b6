import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { configSchema } from '../config.ts'
import { type Check, message } from './check.ts'

const probe = fileURLToPath(
  new URL(`./probe-engine${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
)
const patience = 30_000
/** Those that a config may name. */
const usable: ReadonlySet<string> = new Set(
  configSchema.shape.engine.unwrap().shape.provider.unwrap().options,
)

const answerSchema = z.looseObject({ error: z.string().optional() })
const listSchema = z.object({
  version: z.string(),
  providers: z.array(z.object({ name: z.string(), bundled: z.boolean() })),
})

export interface Provider {
  readonly name: string
  /** In the package, not a library that has to be installed. */
  readonly bundled: boolean
  readonly loads: boolean
  readonly error?: string
}

/**
 * What onnxruntime-node can compute on. Each provider is tried in a process of its own: a driver that is
 * not there may end the process that asks for it.
 */
export async function checkEngine(run: typeof runProbe = runProbe): Promise<Check[]> {
  let list: z.infer<typeof listSchema>
  try {
    list = listSchema.parse(await run([]))
  } catch (error) {
    return [
      {
        name: 'onnxruntime',
        status: 'fail',
        detail: `onnxruntime-node does not load: ${message(error)}`,
        advice: 'reinstall with npm ci; on Linux it needs glibc 2.28 or newer',
      },
    ]
  }
  const providers: Provider[] = []
  for (const { name, bundled } of list.providers.filter((p) => usable.has(p.name))) {
    const tried = await run([name]).then(
      () => ({ loads: true }),
      (error: unknown) => ({ loads: false, error: message(error) }),
    )
    providers.push({ name, bundled, ...tried })
  }
  const gpu = existsSync('/proc/driver/nvidia/version')
  return [engineOf(list.version, providers), ...providers.map((p) => providerOf(p, gpu))]
}

function engineOf(version: string, providers: readonly Provider[]): Check {
  const works = providers.some((p) => p.name === 'cpu' && p.loads)
  return {
    name: 'onnxruntime',
    status: works ? 'ok' : 'fail',
    detail: `onnxruntime-node ${version}`,
    ...(works ? {} : { advice: 'its CPU provider does not compute: reinstall with npm ci' }),
    facts: { version, providers },
  }
}

function providerOf(p: Provider, gpu: boolean): Check {
  const name = `provider ${p.name}`
  if (p.loads) return { name, status: 'ok', detail: 'computes' }
  const detail = `not available: ${p.error ?? 'no reason given'}`
  // A machine without a GPU lacks nothing: only one whose GPU stays idle has something to mend.
  if (p.name !== 'cuda' || !gpu) return { name, status: 'ok', detail }
  return {
    name,
    status: 'warn',
    detail,
    advice: 'an NVIDIA GPU is here: install CUDA, cuDNN and the CUDA libraries of onnxruntime-node',
  }
}

/** The probe's answer. Rejects where it reports an error, ends without an answer, or takes too long. */
async function runProbe(args: readonly string[]): Promise<unknown> {
  const answer = await new Promise<unknown>((resolve, reject) => {
    execFile(process.execPath, [probe, ...args], { timeout: patience }, (error, stdout) => {
      if (!error) return resolve(answerOf(stdout))
      const ended = error.signal
        ? `its process was ended by ${error.signal}`
        : `its process ended with code ${error.code}`
      reject(new Error(error.killed ? `no answer within ${patience / 1000} s` : ended))
    })
  })
  const { error } = answerSchema.parse(answer)
  if (error !== undefined) throw new Error(brief(error))
  return answer
}

/** The last line: drivers may have written before it. Anything but an answer is an error like those that a probe reports. */
export function answerOf(stdout: string): unknown {
  const line = stdout.trim().split('\n').at(-1) ?? ''
  try {
    return JSON.parse(line)
  } catch {
    return { error: `expected an answer, got ${JSON.stringify(line.slice(0, 80))}` }
  }
}

/** onnxruntime's messages carry source files, addresses and paths before what matters. */
function brief(text: string): string {
  return (text.split('\n')[0] ?? '')
    .replace(/^.*?(with error: | was false\. )/, '')
    .replace(/^.*\/(lib[^/]+: )/, '$1')
    .trim()
}
