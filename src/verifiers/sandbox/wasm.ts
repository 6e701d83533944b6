import { ProcessPool } from './pool.ts'
import { defaultLimits, type Sandbox, type SandboxLimits } from './sandbox.ts'

export interface WasmSandboxOptions {
  readonly jobs: number
  readonly limits?: Partial<SandboxLimits>
}

/**
 * Programs run in interpreters compiled to WebAssembly (Pyodide, QuickJS), each in a supervised process of its own without
 * environment, files or permissions. Works wherever Node does.
 */
export function openWasmSandbox(options: WasmSandboxOptions): Sandbox {
  return new ProcessPool({ jobs: options.jobs, limits: { ...defaultLimits, ...options.limits } })
}
