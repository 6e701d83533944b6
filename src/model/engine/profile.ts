import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import ort from 'onnxruntime-node'

/** What the bits of a result depend on besides weights and input. Another profile may round differently. */
export interface NumericProfile {
  /** `onnxruntime-node x.y.z` */
  runtime: string
  /** Execution provider. */
  provider: string
  /** Model, and a hash of its instruction sets where the system lists them: kernels are chosen by those. */
  cpu: string
  /** Intra-op threads: work is split by their number. */
  threads: number
  deterministic: boolean
  /** Operating system and architecture. */
  platform: string
}

export function numericProfile(o: {
  provider: string
  threads: number
  deterministic: boolean
}): NumericProfile {
  return {
    runtime: `onnxruntime-node ${ort.env.versions.node}`,
    provider: o.provider,
    cpu: cpuName(),
    threads: o.threads,
    deterministic: o.deterministic,
    platform: `${process.platform}-${process.arch}`,
  }
}

function cpuName(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  if (process.platform !== 'linux') return model
  const flags = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]
  if (!flags) return model
  const sorted = flags.split(' ').sort().join(' ')
  return `${model} ${createHash('sha256').update(sorted).digest('hex').slice(0, 12)}`
}
