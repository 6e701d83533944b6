export type { EmbeddedLog, LogOptions, Retained } from './embedded/contract.ts'
export { type InboxEntry, submit } from './embedded/inbox.ts'
export { livingWriterOf, openLog, writingProcess } from './embedded/open.ts'
