import { CheckpointStore } from '../../../src/update/checkpoint-store.ts'

/** Writes one checkpoint of two files into the run folder that it is given. */
const files = ['model.safetensors', 'config.json'].map((name) => ({ name, bytes: Buffer.alloc(3000, name) }))
await new CheckpointStore(process.argv[2]!).write(7, 1, files)
