import { checkBubblewrap, findProcessLimit, maxProcesses } from '../../verifiers/sandbox/index.ts'
import { type Check, message } from './check.ts'

const limits = {
  cgroup: `${maxProcesses} processes each, by control group`,
  rlimit: `${maxProcesses} processes each, by RLIMIT_NPROC`,
  none: 'no limit on processes but the time limit',
}

/** @throws where bubblewrap does not work */
function found(): { kind: keyof typeof limits } {
  checkBubblewrap()
  return findProcessLimit()
}

/** What programs that are verified can be shut in with, besides WebAssembly, which works wherever Node does. */
export function checkSandbox(find: () => { kind: keyof typeof limits } = found): Check {
  const facts = { wasm: true }
  let kind: keyof typeof limits
  try {
    kind = find().kind
  } catch (error) {
    return {
      name: 'code sandbox',
      status: 'ok',
      detail: 'WebAssembly; no bubblewrap',
      facts: { ...facts, bubblewrap: false, why: message(error) },
    }
  }
  return {
    name: 'code sandbox',
    status: kind === 'none' ? 'warn' : 'ok',
    detail: `WebAssembly; bubblewrap with ${limits[kind]}`,
    ...(kind === 'none'
      ? {
          advice:
            'a program that forks without end burdens the machine until its time is up: run as a user other than root on Linux 5.14 or newer, or where the cgroup controller pids is writable; or use the sandbox wasm',
        }
      : {}),
    facts: { ...facts, bubblewrap: true, processLimit: kind },
  }
}
