/** What a person reads of a failure: its message, without the name of its class. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
