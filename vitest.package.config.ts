import { defineConfig } from 'vitest/config'
import suite from './vitest.config.ts'

/** `npm run test:package`: installs the packed tarball from the registry, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    ...suite.test,
    include: ['test/package/**/*.test.ts'],
    exclude: [],
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
})
