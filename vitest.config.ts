import { defineConfig } from 'vitest/config'

/** `.ci/run` names a file for the counts. */
const report = process.env.CASCADE_REPORT

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/package/**'],
    globalSetup: ['test/temporary-folder.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    coverage: {
      provider: 'v8',
      include: ['topics/**', 'streams/**', 'src/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
    },
  },
})
