import type { Prompt, Topic } from '../topics/index.ts'

/** What names a group and its place in the run, alike on prompts, rollouts, rewards and outcomes. */
export type Identity = Pick<
  Prompt,
  | 'groupId'
  | 'groupSize'
  | 'stage'
  | 'domain'
  | 'dataset'
  | 'promptId'
  | 'epoch'
  | 'step'
  | 'admission'
  | 'visit'
  | 'policyVersion'
> & { traceId?: string | undefined }

export function identityOf(record: Identity): Identity {
  return {
    groupId: record.groupId,
    groupSize: record.groupSize,
    stage: record.stage,
    domain: record.domain,
    dataset: record.dataset,
    promptId: record.promptId,
    epoch: record.epoch,
    step: record.step,
    admission: record.admission,
    visit: record.visit,
    policyVersion: record.policyVersion,
    ...(record.traceId === undefined ? {} : { traceId: record.traceId }),
  }
}

/** The topic of each domain, made once. */
export function perDomain<T>(make: (domain: string) => Topic<T>): (domain: string) => Topic<T> {
  const made = new Map<string, Topic<T>>()
  return (domain) => {
    let topic = made.get(domain)
    if (!topic) {
      topic = make(domain)
      made.set(domain, topic)
    }
    return topic
  }
}
