import ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/index.ts'
import { type EmbeddingFolder, hashFolder, type Pooling, readFolder } from './folder.ts'
import { outputOf, vectorOf } from './pooling.ts'
import { type Tokens, tokenizerOf } from './tokens.ts'

export interface Embedding {
  /** Of length 1; all zeros, or empty, where there is nothing to say of the text. */
  readonly vector: Float64Array
  /** Tokens that the model read. */
  readonly tokens: number
  readonly truncated: boolean
}

/** An embedding model. Reading a text blocks the calling thread: it belongs into a process or worker of its own. */
export interface Encoder extends AsyncDisposable {
  /** sha256 of all that decides a vector. */
  readonly hash: string
  /** @throws CascadeError ENGINE_FAILED where the model fails on the text */
  embed(text: string): Promise<Embedding>
}

const inputs = ['input_ids', 'attention_mask', 'token_type_ids'] as const
type Input = (typeof inputs)[number]

/** Texts whose vectors are kept: the references of the groups at hand. */
const kept = 64

/**
 * Opens an encoder in the layout of Hugging Face. One text a run, on one thread: a vector depends on its text alone, bit for bit.
 *
 * @throws CascadeError MODEL_INVALID for a folder, a tokenizer or a model that is none, or has other inputs or outputs
 */
export async function openEncoder(path: string, pooling?: Pooling): Promise<Encoder> {
  const folder = await readFolder(path, pooling)
  const tokens = tokenizerOf(folder)
  const session = await openSession(folder)
  const types = inputTypes(folder, session)
  const output = outputOf(folder, session, pooling)
  const known = new Map<string, Embedding>()
  const read = async (text: string): Promise<Embedding> => {
    try {
      const { ids, truncated } = tokens(text)
      if (ids.length === 0) return { vector: new Float64Array(0), tokens: 0, truncated }
      const feeds = Object.fromEntries(types.map(([name, type]) => [name, tensor(type, values(name, ids))]))
      const result = await session.run(feeds, [output])
      return { vector: vectorOf(result[output]!, folder.pooling), tokens: ids.length, truncated }
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new CascadeError('ENGINE_FAILED', `embedding model ${path}: ${reason}`, { cause })
    }
  }
  const encoder: Encoder = {
    hash: await hashFolder(folder),
    async embed(text) {
      const found = known.get(text) ?? (await read(text))
      known.delete(text)
      known.set(text, found)
      if (known.size > kept) known.delete(known.keys().next().value!)
      return found
    },
    async [Symbol.asyncDispose]() {
      await session.release()
    },
  }
  try {
    // A tokenizer of another model shows here, and not in the middle of a file.
    await encoder.embed('@@ -1 +1 @@\n-a\n+b\n')
  } catch (cause) {
    await session.release()
    throw new CascadeError('MODEL_INVALID', (cause as Error).message, { cause })
  }
  return encoder
}

async function openSession({ folder, model }: EmbeddingFolder): Promise<ort.InferenceSession> {
  try {
    return await ort.InferenceSession.create(model, {
      executionMode: 'sequential',
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      // Its errors are thrown.
      logSeverityLevel: 4,
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `embedding model ${folder}: ${model}: expected an ONNX model: ${reason}`
    throw new CascadeError('MODEL_INVALID', message, { cause })
  }
}

function inputTypes(
  { folder }: EmbeddingFolder,
  session: ort.InferenceSession,
): [name: Input, type: 'int64' | 'int32'][] {
  const refuse = (got: string): never => {
    const expected = 'inputs input_ids, attention_mask and at most token_type_ids, of int64 or int32'
    throw new CascadeError('MODEL_INVALID', `embedding model ${folder}: expected ${expected}, got ${got}`)
  }
  const all = session.inputMetadata.map((input): [Input, 'int64' | 'int32'] => {
    const type = input.isTensor ? input.type : 'no tensor'
    if (!inputs.includes(input.name as Input)) return refuse(input.name)
    if (type !== 'int64' && type !== 'int32') return refuse(`${input.name} of ${type}`)
    return [input.name as Input, type]
  })
  for (const name of ['input_ids', 'attention_mask']) {
    if (!all.some(([given]) => given === name)) {
      refuse(`${all.map(([given]) => given).join(', ') || 'none'} without ${name}`)
    }
  }
  return all
}

function values(name: Input, ids: Tokens['ids']): readonly number[] {
  return name === 'input_ids' ? ids : ids.map(() => (name === 'attention_mask' ? 1 : 0))
}

function tensor(type: 'int64' | 'int32', data: readonly number[]): ort.Tensor {
  const shape = [1, data.length]
  return type === 'int64'
    ? new ort.Tensor(type, BigInt64Array.from(data, BigInt), shape)
    : new ort.Tensor(type, Int32Array.from(data), shape)
}
