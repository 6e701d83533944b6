import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { domainTopics, singleTopics } from '../../topics/registry.ts'
import { plain, samples } from './samples.ts'

const golden = join(import.meta.dirname, 'golden')

test('every topic has a sample', () => {
  const names = [...singleTopics.map((t) => t.name), ...Object.keys(domainTopics), 'dead-letters']
  expect(Object.keys(samples).toSorted()).toEqual(names.toSorted())
})

const versions = Object.entries(samples).flatMap(([name, { topic }]) =>
  Array.from({ length: topic.version }, (_, i) => ({ name, topic, version: i + 1 })),
)

test.each(versions)('$name, version $version: what was once written is read', ({ name, topic, version }) => {
  const file = join(golden, `${name}.v${version}`)
  const bytes = readFileSync(`${file}.bin`)
  const value = topic.decode(bytes)
  expect(topic.schema.safeParse(value).error).toBeUndefined()
  if (version !== topic.version) return
  expect(plain(value)).toEqual(JSON.parse(readFileSync(`${file}.json`, 'utf8')))
  expect(Buffer.from(topic.encode(value)).equals(bytes)).toBe(true)
})
