import { defineConfig } from 'vitest/config'

/** `npm run test:package`: installs the packed tarball from the registry, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/package/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
})
