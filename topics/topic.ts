import type { z } from 'zod'
import { decodeFrame, encodeFrame, maxVersion, type Part } from './codec.ts'
import { CascadeError } from './errors.ts'

/** How long a topic keeps its records. What a position still needs is never removed. */
export interface Retention {
  /** Milliseconds since a record's timestamp. */
  ageMs?: number
  /** Bytes of stored values. */
  bytes?: number
}

/** Turns a value of schema version n into one of n+1. Pure. */
export type Upcaster = (value: unknown) => unknown

export interface TopicSpec<T> {
  /** The topic's name, or its prefix where one topic exists for each domain. */
  name: string
  /** Schema version, from 1; raised with every change of the schema. */
  version: number
  schema: z.ZodType<T>
  /** The record's key: what compaction and partitioning go by. */
  key(value: T): string
  /** `upcasters[n]` lifts version n to n+1; one for every version below {@link version}. */
  upcasters?: Readonly<Record<number, Upcaster>>
  retention?: Retention
}

/** A typed topic: what the log stores under {@link TopicSpec.name}, and how. */
export interface Topic<T> extends Readonly<TopicSpec<T>> {
  readonly retention: Retention
  /** @throws {@link CascadeError} `RECORD_INVALID` where the value does not fit the schema. */
  encode(value: T): Uint8Array
  /**
   * @param part where in `bytes` the frame is; its checksum was verified already, together with others'
   * @throws {@link CascadeError} `RECORD_CORRUPT`, `RECORD_VERSION` or `RECORD_INVALID`.
   */
  decode(bytes: Uint8Array, where?: string, part?: Part): T
}

/** @throws TypeError where the version is none, or an upcaster is missing: faults of the code, not of a record */
export function defineTopic<T>(spec: TopicSpec<T>): Topic<T> {
  if (!Number.isInteger(spec.version) || spec.version < 1 || spec.version > maxVersion)
    throw new TypeError(`topic ${spec.name}: expected a version from 1 to ${maxVersion}, got ${spec.version}`)
  for (let v = 1; v < spec.version; v++) {
    if (!spec.upcasters?.[v])
      throw new TypeError(`topic ${spec.name}: expected an upcaster from version ${v}`)
  }
  return Object.freeze({
    ...spec,
    retention: spec.retention ?? {},
    encode(value: T): Uint8Array {
      const checked = spec.schema.safeParse(value)
      if (!checked.success) throw invalid(spec.name, value, checked.error)
      return encodeFrame(spec.version, checked.data)
    },
    decode(bytes: Uint8Array, where = spec.name, part?: Part): T {
      const frame = decodeFrame(bytes, where, part)
      if (frame.version > spec.version || frame.version < 1) {
        const why = frame.version > spec.version ? '; a newer build wrote it' : ''
        throw new CascadeError(
          'RECORD_VERSION',
          `${where}: expected ${spec.name} version 1 to ${spec.version}, got ${frame.version}${why}`,
        )
      }
      let value = frame.value
      for (let v = frame.version; v < spec.version; v++) value = spec.upcasters![v]!(value)
      // What this very version wrote was validated when it was written, and the checksum covers it since.
      if (frame.version === spec.version) return value as T
      const lifted = spec.schema.safeParse(value)
      if (!lifted.success) throw invalid(where, value, lifted.error)
      return lifted.data
    },
  })
}

function invalid(where: string, value: unknown, error: z.ZodError): CascadeError {
  const issue = error.issues[0]
  const path = issue?.path.join('.') || '(value)'
  const id =
    typeof value === 'object' && value !== null && 'id' in value ? ` of record ${String(value.id)}` : ''
  return new CascadeError('RECORD_INVALID', `${where}: field ${path}${id}: ${issue?.message ?? 'invalid'}`, {
    context: { issues: error.issues },
  })
}
