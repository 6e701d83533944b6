import { CascadeError } from '../../../topics/index.ts'
import { openBubblewrapSandbox } from './bubblewrap.ts'
import type { Sandbox, SandboxLimits } from './sandbox.ts'
import { openWasmSandbox } from './wasm.ts'

export { openBubblewrapSandbox } from './bubblewrap.ts'
export * from './sandbox.ts'
export { openWasmSandbox } from './wasm.ts'

export interface SandboxOptions {
  readonly jobs: number
  readonly limits?: Partial<SandboxLimits>
}

/** Every sandbox, by the name that `sandbox` takes. */
const sandboxes: Readonly<Record<string, (options: SandboxOptions) => Sandbox>> = {
  wasm: openWasmSandbox,
  bubblewrap: openBubblewrapSandbox,
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
  return known(options)
}
