import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ids, notes, others, range, readAll } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, temporaryFolder } from './folder.ts'

const kills = Number(process.env.CASCADE_KILLS ?? 4)

test(
  `kill -9 of the writer at ${kills} random moments loses nothing acknowledged and leaves no half transaction`,
  async () => {
    using folder = temporaryFolder()
    let acknowledged = 0
    for (let i = 0; i < kills; i++) {
      const writer = new Child('writer.ts', [folder.path, '1000000', i % 2 === 0 ? '200' : '100000'])
      await writer.line((line) => line.startsWith('ack'))
      await setTimeout(Math.random() * 250)
      await writer.kill()
      const acks = writer.lines.filter((line) => line.startsWith('ack')).map((line) => Number(line.slice(4)))
      acknowledged = Math.max(acknowledged, ...acks.map((n) => n + 1))

      const log = await append(folder.path)
      expect(log.epoch).toBe(2 * i + 2)
      const written = await ids(log)
      expect(written.length).toBeGreaterThanOrEqual(acknowledged)
      expect(written).toEqual(range(0, written.length))
      const twins = await readAll(log, others)
      expect(twins.map((r) => r.value)).toEqual((await readAll(log, notes)).map((r) => r.value))
      const settled = twins.flatMap((r) => r.headers.settles!.split(' ').filter(Boolean).map(Number))
      const { floor, beyond } = await log.position('g', 'notes')
      expect([...range(0, floor), ...beyond]).toEqual(settled.toSorted((a, b) => a - b))
      await log.close()
    }
  },
  30_000 + kills * 5000,
)
