import { describe } from 'vitest'
import { appendTests } from './conformance/append.ts'
import { modelTests } from './conformance/model.ts'
import { positionTests } from './conformance/positions.ts'
import { readTests } from './conformance/read.ts'
import { retentionTests } from './conformance/retention.ts'
import type { Backend } from './conformance/subject.ts'

/** What every adapter of the `TopicLog` port must do. */
export function conformance(backend: Backend): void {
  describe(`${backend.name} is a topic log`, () => {
    describe('append', () => appendTests(backend))
    describe('read', () => readTests(backend))
    describe('positions', () => positionTests(backend))
    if (backend.can.includes('retain')) describe('retention', () => retentionTests(backend))
    describe('model', () => modelTests(backend))
  })
}
