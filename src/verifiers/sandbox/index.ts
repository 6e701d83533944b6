import { CascadeError } from '../../../topics/index.ts'
import { openBubblewrapSandbox } from './bubblewrap.ts'
import { openPistonSandbox } from './piston.ts'
import type { Sandbox, SandboxLimits } from './sandbox.ts'
import { openSandboxFusion } from './sandbox-fusion.ts'
import { openWasmSandbox } from './wasm.ts'

export { openBubblewrapSandbox } from './bubblewrap.ts'
export { checkBubblewrap } from './native-walls.ts'
export { openPistonSandbox } from './piston.ts'
export { findProcessLimit, maxProcesses } from './process-limit.ts'
export * from './sandbox.ts'
export { openSandboxFusion } from './sandbox-fusion.ts'
export { openWasmSandbox } from './wasm.ts'

export interface SandboxOptions {
  readonly jobs: number
  readonly limits?: Partial<SandboxLimits>
  /** Of a sandbox that runs elsewhere. */
  readonly url?: string
}

/** Every sandbox, by the name that `sandbox` takes. */
const sandboxes: Readonly<Record<string, (options: SandboxOptions) => Sandbox>> = {
  wasm: openWasmSandbox,
  bubblewrap: openBubblewrapSandbox,
  piston: openPistonSandbox,
  sandboxfusion: openSandboxFusion,
}

/** @throws `CONFIG_INVALID` for an unknown name, and where the machine cannot carry that sandbox. */
export function openSandbox(name: unknown, options: SandboxOptions): Sandbox {
  const known = typeof name === 'string' && Object.hasOwn(sandboxes, name) ? sandboxes[name] : undefined
  if (!known) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `sandbox: expected one of ${Object.keys(sandboxes).join(', ')}, got ${String(name)}`,
    )
  }
  const remote = known === openPistonSandbox || known === openSandboxFusion
  if (options.url !== undefined && !remote) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `sandbox-url: ${String(name)} runs on this machine: expected none, got ${options.url}`,
    )
  }
  return known(options)
}
