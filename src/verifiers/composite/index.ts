export { type CompositeOptions, type CompositePart, composite } from './composite.ts'
