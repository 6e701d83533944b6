import { readFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os'
import { lowestNode } from '../../version.ts'
import type { Context } from '../command.ts'
import { byteSize } from '../output/format.ts'
import { wantsColor } from '../output/style.ts'
import type { Check } from './check.ts'

const gibibyte = 1024 ** 3

export function checkPlatform(): Check {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor'
  return {
    name: 'platform',
    status: 'ok',
    detail: `${platform()} ${release()}, ${arch()}, ${model}`,
    facts: { platform: platform(), arch: arch(), model },
  }
}

export function checkNode(version: string = process.versions.node, lowest = lowestNode()): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const old = major < lowest[0] || (major === lowest[0] && minor < lowest[1])
  return {
    name: 'node',
    status: old ? 'fail' : 'ok',
    detail: version,
    ...(old ? { advice: `use Node ${lowest.join('.')} or newer` } : {}),
    facts: { version },
  }
}

/** @param stripping what Node says of itself: how it runs TypeScript, if it does */
export function checkTypeScript(stripping: unknown = process.features.typescript): Check {
  if (stripping) return { name: 'typescript', status: 'ok', detail: 'this Node runs cascade.config.ts' }
  return {
    name: 'typescript',
    status: 'warn',
    detail: 'this Node does not run TypeScript',
    advice: 'use Node 22.18 or newer, or write the config as cascade.config.js',
  }
}

export function checkCores(
  cores: number = availableParallelism(),
  quota: number | undefined = cpuQuota(),
): Check {
  const limited = quota !== undefined && quota < cores
  return {
    name: 'cores',
    status: limited ? 'warn' : 'ok',
    detail: `${cores}${limited ? `, of which a quota allows the time of ${quota.toFixed(1)}` : ''}`,
    ...(limited
      ? { advice: `set engine.threads to ${Math.max(1, Math.floor(quota))}, or raise the container's quota` }
      : {}),
    facts: { cores, ...(limited ? { quota } : {}) },
  }
}

export function checkMemory(
  total: number = memoryLimit(),
  available: number = process.availableMemory(),
): Check {
  const low = available < gibibyte
  return {
    name: 'memory',
    status: low ? 'warn' : 'ok',
    detail: `${byteSize(total)}, ${byteSize(available)} available`,
    ...(low
      ? { advice: 'a small run needs about 1 GiB: close other programs, or lower engine.decodeRows' }
      : {}),
    facts: { total, available },
  }
}

export function checkTerminal({ stdout, env }: Pick<Context, 'stdout' | 'env'>): Check {
  const color = wantsColor(stdout, env)
  const detail = stdout.isTTY
    ? `${stdout.columns ?? 80} columns, ${color ? 'colours' : 'no colours'}`
    : 'not a terminal: a run prints plain lines'
  return { name: 'terminal', status: 'ok', detail, facts: { tty: stdout.isTTY === true, color } }
}

function memoryLimit(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}

/** Cores' worth of time that a container may use (cgroup v2), where it is limited. */
function cpuQuota(): number | undefined {
  if (platform() !== 'linux') return undefined
  try {
    const [quota, period] = readFileSync('/sys/fs/cgroup/cpu.max', 'utf8').trim().split(' ')
    return quota === 'max' ? undefined : Number(quota) / Number(period)
  } catch {
    // No cgroup v2 here: nothing is known of a limit.
    return undefined
  }
}
