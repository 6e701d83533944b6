export { type Embedding, type Encoder, openEncoder } from './encoder.ts'
export { hashFolder, type Pooling, readFolder } from './folder.ts'
export { cosine } from './pooling.ts'
