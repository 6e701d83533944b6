export { judgedPatch, patchCriteria } from './judged-patch.ts'
export {
  type PatchCase,
  type PatchOptions,
  patch,
  patchCase,
  patchKind,
  patchOptions,
  patchTruth,
} from './patch.ts'
export { quickRatio, ratio, type SimilarityOptions } from './similarity.ts'
