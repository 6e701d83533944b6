import { InvalidArgumentError } from 'commander'

/** Reads an option whose value is JSON. */
export function jsonOption(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new InvalidArgumentError(`expected JSON: ${(cause as Error).message}`)
  }
}
