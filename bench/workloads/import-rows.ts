import { join } from 'node:path'
import { importRun } from '../../src/cli/exchange/import-run.ts'
import { formatNamed } from '../../src/exchange/index.ts'

/** Imports a file in a process of its own: seconds, and the most memory of heap, buffers and process, as JSON on standard output. */
const [file, dir] = process.argv.slice(2) as [string, string]
let most = 0
const began = performance.now()
const imported = await importRun({
  format: formatNamed('verl'),
  files: [file],
  cwd: dir,
  dir: join(dir, 'run'),
  domain: 'math',
  verifier: 'verl',
  skipBad: false,
  signal: new AbortController().signal,
  onProgress() {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    most = Math.max(most, heapUsed + arrayBuffers)
  },
})
const seconds = (performance.now() - began) / 1000
const rss = process.resourceUsage().maxRSS * 1024
process.stdout.write(`${JSON.stringify({ seconds, rows: imported.rollouts, heap: most, rss })}\n`)
