import { createHash } from 'node:crypto'
import type { Rollout } from '../topics/index.ts'

/**
 * sha256, in hex, over what training takes from a rollout: prompt tokens (int32), response tokens (int32) and
 * log-probabilities (float32), little-endian, each preceded by its count (uint32), so that no token can change sides unseen.
 */
export function hashRollout(
  rollout: Pick<Rollout, 'promptTokens' | 'responseTokens' | 'responseLogprobs'>,
): string {
  const hash = createHash('sha256')
  const count = Buffer.allocUnsafe(4)
  for (const part of [rollout.promptTokens, rollout.responseTokens, rollout.responseLogprobs]) {
    count.writeUInt32LE(part.length)
    hash.update(count)
    hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
  }
  return hash.digest('hex')
}
