import type { Rollout } from '../../topics/index.ts'
import type { Sample } from './judge.ts'

/** What is known of a response that no run has sampled. */
export type Answered = Pick<Rollout, 'id' | 'promptText' | 'responseText' | 'groundTruth' | 'verifier'> &
  Partial<
    Pick<
      Rollout,
      | 'stage'
      | 'domain'
      | 'dataset'
      | 'promptId'
      | 'policyVersion'
      | 'promptTokens'
      | 'responseTokens'
      | 'status'
    >
  >

/** A response in the shape that verifiers take: alone in its group, sampled greedily. */
export function asRollout(given: Answered): Rollout {
  const { promptTokens = Int32Array.of(), responseTokens = Int32Array.of(), status = 'completed' } = given
  const maxTokens = Math.max(1, responseTokens.length)
  return {
    groupId: given.id,
    groupSize: 1,
    index: 0,
    stage: 'none',
    domain: 'none',
    dataset: '',
    promptId: given.id,
    epoch: 0,
    step: 1,
    admission: 0,
    visit: 0,
    policyVersion: 0,
    ...given,
    promptTokens,
    responseTokens,
    status,
    responseLogprobs: new Float32Array(responseTokens.length),
    logprobsMode: 'raw',
    lossMask: new Uint8Array(responseTokens.length).fill(1),
    versionSpans: [],
    sampling: { temperature: 0, topP: 1, topK: 0, maxTokens, stopTokens: [], logprobsMode: 'raw' },
    finishReason: status === 'truncated' ? 'length' : 'stop',
    timings: {},
  }
}

export function sampleAsRollout(verifier: string, id: string, { response, truth }: Sample): Rollout {
  return asRollout({ id, verifier, promptText: '', responseText: response, groundTruth: truth })
}
