import { advantages } from './advantages.ts'
import { checkpoints } from './checkpoints.ts'
import { control } from './control.ts'
import { deadLetters } from './dead-letters.ts'
import { demonstrations } from './demonstrations.ts'
import { CascadeError } from './errors.ts'
import { evaluations } from './evaluations.ts'
import { gradientBatches } from './gradient-batches.ts'
import { prompts } from './prompts.ts'
import { rewards } from './rewards.ts'
import { rollouts } from './rollouts.ts'
import { shadows } from './shadows.ts'
import type { Topic } from './topic.ts'
import { updates } from './updates.ts'

/** Topics that exist once a run. */
export const singleTopics: readonly Topic<unknown>[] = [
  control,
  demonstrations,
  gradientBatches,
  updates,
  checkpoints,
  evaluations,
]

/** Topics that exist once a domain, by the prefix of their name. */
export const domainTopics: Readonly<Record<string, (domain: string) => Topic<unknown>>> = {
  prompts,
  rollouts,
  rewards,
  advantages,
  shadows,
}

const deadLetterSuffix = '.dlq'

/** Every topic that a run over these domains may write, dead letters left out. */
export function topicNames(domains: Iterable<string>): string[] {
  const names = singleTopics.map((t) => t.name)
  for (const domain of new Set(domains)) {
    for (const prefix of Object.keys(domainTopics)) names.push(`${prefix}.${domain}`)
  }
  return names
}

/**
 * The typed topic of a name: `control`, `rollouts.math`, `rewards.math.dlq`.
 *
 * @param existing names to offer where the name is wrong, and the only ones accepted; without it every name of a known form is.
 * @throws {@link CascadeError} `TOPIC_UNKNOWN`
 */
export function topicNamed(name: string, existing?: readonly string[]): Topic<unknown> {
  const known = existing && !existing.includes(name) ? undefined : resolve(name)
  if (known) return known
  const choices = existing ?? [...topicNames(['<domain>']), `<topic>${deadLetterSuffix}`]
  throw new CascadeError('TOPIC_UNKNOWN', `expected one of the topics ${choices.join(', ')}, got ${name}`)
}

function resolve(name: string): Topic<unknown> | undefined {
  if (name.endsWith(deadLetterSuffix)) {
    const source = name.slice(0, -deadLetterSuffix.length)
    return resolve(source) && deadLetters(source)
  }
  const single = singleTopics.find((t) => t.name === name)
  if (single) return single
  const dot = name.indexOf('.')
  if (dot < 1 || dot === name.length - 1 || !Object.hasOwn(domainTopics, name.slice(0, dot))) return undefined
  return domainTopics[name.slice(0, dot)]!(name.slice(dot + 1))
}
