import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CascadeError } from '../../topics/errors.ts'

/**
 * Standard output of a Python script of this folder, run by the interpreter that `PEERS_PYTHON` names, `python3` by default.
 *
 * @throws CascadeError USAGE where it cannot run, saying what to install; `packages` are pip's names
 */
export async function runPeer(
  script: string,
  args: readonly string[],
  packages: readonly string[],
): Promise<string> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  try {
    return (await promisify(execFile)(python(), [path, ...args])).stdout
  } catch (cause) {
    const { stderr = '', message } = cause as Error & { stderr?: string }
    throw peerMissing(script, packages, stderr.trim() || message, cause)
  }
}

/** The interpreter of the peers. */
export function python(): string {
  return process.env.PEERS_PYTHON ?? 'python3'
}

/** What to say where a script has ended instead of an answer: the last line of what it said, and what to install. */
export function peerMissing(
  script: string,
  packages: readonly string[],
  said: string,
  cause?: unknown,
): CascadeError {
  return new CascadeError(
    'USAGE',
    `${python()} bench/peers/${script}: ${said.trim().split('\n').at(-1)}\n\nThe peer needs a Python with ${packages.join(' and ')}:\n` +
      `  python3 -m venv peers && peers/bin/pip install ${packages.join(' ')}\n  export PEERS_PYTHON=$PWD/peers/bin/python`,
    { cause },
  )
}
