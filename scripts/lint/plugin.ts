import { boundedMerge } from './bounded-merge.ts'
import { importDirection } from './import-direction.ts'

/** The house's own rules, loaded by `.oxlintrc.json`. Each has a test in `test/house/` that shows what it catches. */
export default {
  meta: { name: 'cascade' },
  rules: {
    'bounded-merge': boundedMerge,
    'import-direction': importDirection,
  },
}
