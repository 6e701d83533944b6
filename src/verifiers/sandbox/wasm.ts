import { CompilingSandbox } from './compiling.ts'
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
  const pool = { jobs: options.jobs, limits: { ...defaultLimits, ...options.limits } }
  return new CompilingSandbox(new ProcessPool(pool), { ...pool, strict: false })
}
