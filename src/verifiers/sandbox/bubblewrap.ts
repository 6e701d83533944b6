import { CascadeError } from '../../../topics/index.ts'
import type { SandboxOptions } from './index.ts'
import type { Sandbox } from './sandbox.ts'
export function openBubblewrapSandbox(_: SandboxOptions): Sandbox {
  throw new CascadeError('CONFIG_INVALID', 'sandbox: not yet')
}
