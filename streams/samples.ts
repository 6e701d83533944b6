import { CascadeError, type FinishReason, type Prompt, type Rollout } from '../topics/index.ts'
import { identityOf } from './identity.ts'
import type { Sample } from './ports.ts'

/**
 * The samples of a group in order of index, checked: exactly G, each index once, a finite log-probability a token.
 *
 * @throws `POLICY_FAILED` or `NUMERIC`, naming the group.
 */
export function wholeGroup(prompt: Prompt, samples: readonly Sample[]): readonly Sample[] {
  const { groupId, groupSize } = prompt
  const fail = (problem: string) => new CascadeError('POLICY_FAILED', `group ${groupId}: ${problem}`)
  if (samples.length !== groupSize) {
    const got = samples.length > groupSize ? `more than ${groupSize}` : String(samples.length)
    throw fail(`expected ${groupSize} samples, got ${got}`)
  }
  const ordered = [...samples].sort((a, b) => a.index - b.index)
  for (const [i, s] of ordered.entries()) {
    if (s.index !== i) throw fail(`expected each sample index below ${groupSize} once, got ${s.index}`)
    if (s.logprobs.length !== s.tokens.length) {
      throw fail(
        `sample ${i}: expected ${s.tokens.length} log-probabilities, one a token, got ${s.logprobs.length}`,
      )
    }
    const bad = s.logprobs.findIndex((p) => !Number.isFinite(p))
    if (bad >= 0) {
      throw new CascadeError(
        'NUMERIC',
        `group ${groupId}: sample ${i}: expected finite log-probabilities, got ${s.logprobs[bad]} at token ${bad}`,
      )
    }
  }
  return ordered
}

const status: Record<FinishReason, Rollout['status']> = {
  stop: 'completed',
  tool_calls: 'completed',
  length: 'truncated',
  abort: 'aborted',
}

/** `queued`: milliseconds between the prompt's admission and its start. */
export function rolloutOf(prompt: Prompt, sample: Sample, queued: number): Rollout {
  const { length } = sample.tokens
  return {
    id: `${prompt.groupId}:${sample.index}`,
    ...identityOf(prompt),
    index: sample.index,
    promptTokens: prompt.promptTokens,
    responseTokens: sample.tokens,
    responseLogprobs: sample.logprobs,
    logprobsMode: prompt.sampling.logprobsMode,
    ...(sample.mismatch ? { mismatch: sample.mismatch } : {}),
    lossMask: new Uint8Array(length).fill(1),
    versionSpans: length === 0 ? [] : [{ version: prompt.policyVersion, start: 0, end: length }],
    sampling: prompt.sampling,
    finishReason: sample.finishReason,
    status: status[sample.finishReason],
    promptText: prompt.promptText,
    responseText: sample.text,
    ...(prompt.messages === undefined ? {} : { messages: prompt.messages }),
    groundTruth: prompt.groundTruth,
    verifier: prompt.verifier,
    timings: { queued, generate: sample.generateMs },
  }
}
