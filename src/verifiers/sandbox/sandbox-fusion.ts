import { z } from 'zod'
import type { RemoteProgram } from './remote-program.ts'
import {
  type Ask,
  fault,
  openRemoteSandbox,
  type Protocol,
  type RemoteEnd,
  type RemoteSandboxOptions,
} from './remote-sandbox.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Programs run on a SandboxFusion server (https://github.com/bytedance/SandboxFusion), through `POST /run_code`.
 *
 * Fields as in its sandbox/server/sandbox_api.py and sandbox/runners/types.py: the request has `language` (`python`, `nodejs`), `code`, `stdin`, `files` (base64 by
 * name) and `run_timeout` in seconds; the answer has `status` (`Success`, `Failed`, `SandboxError`), `message` and `run_result` with `status`
 * (`Finished`, `TimeLimitExceeded`, `Error`), `return_code`, `stdout` and `stderr`. A language that it lacks is a status of 422 that lists those it has.
 *
 * @throws `CONFIG_INVALID` for what is no address
 */
export function openSandboxFusion(options: RemoteSandboxOptions): Sandbox {
  return openRemoteSandbox(new SandboxFusion(), options)
}

const answer = z.object({
  status: z.enum(['Success', 'Failed', 'SandboxError']),
  message: z.string().nullish(),
  run_result: z
    .object({
      status: z.enum(['Finished', 'TimeLimitExceeded', 'Error']),
      return_code: z.int().nullish(),
      stdout: z.string().nullish(),
      stderr: z.string().nullish(),
    })
    .nullish(),
})

class SandboxFusion implements Protocol {
  readonly name = 'sandboxfusion'

  async execute(program: RemoteProgram, ask: Ask): Promise<RemoteEnd> {
    const files = Object.entries(program.files).map(([name, content]) => [
      name,
      Buffer.from(content).toString('base64'),
    ])
    const given = await ask(
      '/run_code',
      {
        language: program.engine === 'python' ? 'python' : 'nodejs',
        code: program.main,
        stdin: program.stdin,
        files: Object.fromEntries(files) as Record<string, string>,
        run_timeout: program.timeoutMs / 1000,
      },
      {},
    )
    const read = answer.safeParse(given)
    if (!read.success) {
      throw fault(
        this,
        `expected {status, run_result}, got ${(JSON.stringify(given) ?? 'nothing').slice(0, 200)}`,
      )
    }
    const { status, message, run_result: ran } = read.data
    if (status === 'SandboxError' || !ran || ran.status === 'Error') {
      throw fault(
        this,
        `the server could not run it: ${(message || ran?.stderr || 'no message').slice(0, 500)}`,
      )
    }
    const code = ran.return_code ?? 0
    const rest = { stdout: ran.stdout ?? '', stderr: ran.stderr ?? '' }
    if (ran.status === 'TimeLimitExceeded') return { ...rest, code, stopped: 'timeout' }
    // Python's way to say that a signal ended the process.
    return { ...rest, code: code < 0 ? 128 - code : code }
  }
}
