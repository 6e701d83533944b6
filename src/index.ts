/** What `import … from 'cascade-rl'` gives: configs, and the topics and operators to build on. */
export * from '../streams/index.ts'
export * from '../topics/index.ts'
export { type CascadeConfig, type CascadeInput, defineCascade } from './cli/config.ts'
