export { defaultLimits, type Limits } from './limits.ts'
export { Pool, type PoolOptions } from './pool.ts'
export type { Judge, Target } from './protocol.ts'
export type { Judged } from './task.ts'
