/** Every code that Cascade raises. Codes are stable: scripts match on them, never on messages. */
export const errorCodes = [
  'CONFIG_INVALID',
  'USAGE',
  'RUN_DIR_UNUSABLE',
  'RUN_EXISTS',
  'RUN_NOT_FOUND',
  'RUN_LOCKED',
  'RUN_NOT_RUNNING',
  'CONTROL_TIMEOUT',
  'PROFILE_MISMATCH',
  'LOG_CORRUPT',
  'LOG_FULL',
  'LOG_BUSY',
  'LOG_CLOSED',
  'LOG_FENCED',
  'LOG_OFFSET_GONE',
  'LOG_READ_ONLY',
  'TOPIC_UNKNOWN',
  'RECORD_INVALID',
  'RECORD_CORRUPT',
  'RECORD_VERSION',
  'RECORD_TOO_LARGE',
  'CREDIT_EXCEEDED',
  'WINDOW_EXCEEDED',
  'STREAM_PROTOCOL',
  'POLICY_VERSION',
  'POLICY_FAILED',
  'VERIFIER_FAILED',
  'VERIFIER_TIMEOUT',
  'VERIFIER_BUDGET',
  'VERIFIER_ERROR_BUDGET',
  'CHECKPOINT_INVALID',
  'CHECKPOINT_SHAPE',
  'CHECKPOINT_NOT_FOUND',
  'MODEL_INVALID',
  'ENGINE_FAILED',
  'NUMERIC',
  'INTERRUPTED',
] as const

export type ErrorCode = (typeof errorCodes)[number]

export interface CascadeErrorOptions {
  cause?: unknown
  /** The same call may succeed later. */
  retryable?: boolean
  /** Facts a log line should show; enumerable on the error. */
  context?: Record<string, unknown>
}

/** The one error class: a stable `code`, flags decided where it is built, and its context. */
export class CascadeError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly context: Record<string, unknown>

  constructor(code: ErrorCode, message: string, options: CascadeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'CascadeError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.context = options.context ?? {}
  }
}

/** True for a {@link CascadeError}, with that code when one is given (also across module copies). */
export function isCascadeError(error: unknown, code?: ErrorCode): error is CascadeError {
  return (
    error instanceof Error &&
    error.name === 'CascadeError' &&
    'code' in error &&
    (code === undefined || error.code === code)
  )
}
