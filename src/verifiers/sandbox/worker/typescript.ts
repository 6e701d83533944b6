import { transform } from 'sucrase'

/** Takes the types out and turns imports into `require`, without checking anything. @throws on text that is no TypeScript. */
export function stripTypes(source: string): string {
  return transform(source, {
    transforms: ['typescript', 'imports'],
    disableESTransforms: true,
    production: true,
  }).code
}
