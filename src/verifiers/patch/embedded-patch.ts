import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import { cosine, type Encoder, hashFolder, type Pooling, readFolder } from '../embedding/index.ts'
import { codeHash } from '../judge.ts'
import { targetOf } from '../kinds.ts'
import { type Limits, Pool } from '../pool/index.ts'
import { belowOne, type FileChange, type FileSimilarity } from './compare.ts'
import { type Examined, type PatchOptions, patch } from './patch.ts'

/** How alike a file's diffs are in both ways. */
export interface FileMeaning extends FileSimilarity {
  /** Of the embeddings of both diffs, from -1 to 1; 1 or 0 where no diffs are compared, as `ratio` is. */
  readonly cosine: number
  /** Tokens that the model read, where it left out the end of a diff. */
  readonly truncated?: { readonly predicted?: number; readonly reference?: number }
}

/**
 * What is neither the reference nor unchanged nor malformed scores `(1 - weight) · lexical + weight · semantic`: `lexical` as in
 * {@link patch}, `semantic` the mean over the files of the cosine of their diffs' embeddings, one below 0 counting 0.
 */
export async function byMeaning(
  { verdict, changes, files }: Examined,
  encoder: Encoder,
  weight: number,
): Promise<Verdict> {
  if (verdict.outcome !== 'score' || !changes || !files) return verdict
  const compared: FileMeaning[] = []
  for (const [i, change] of changes.entries())
    compared.push({ ...files[i]!, ...(await meaningOf(change, encoder)) })
  const lexical = verdict.score
  const semantic = compared.reduce((sum, file) => sum + Math.max(0, file.cosine), 0) / compared.length
  return {
    outcome: 'score',
    score: Math.min((1 - weight) * lexical + weight * semantic, belowOne),
    detail: { case: 'similar', files: compared, lexical, semantic, weight, model: encoder.hash },
  }
}

async function meaningOf(
  { diffs, same }: FileChange,
  encoder: Encoder,
): Promise<Pick<FileMeaning, 'cosine' | 'truncated'>> {
  if (!diffs) return { cosine: same ? 1 : 0 }
  const predicted = await encoder.embed(diffs[0])
  const reference = await encoder.embed(diffs[1])
  const alike = cosine(predicted.vector, reference.vector)
  if (!predicted.truncated && !reference.truncated) return { cosine: alike }
  return {
    cosine: alike,
    truncated: {
      ...(predicted.truncated ? { predicted: predicted.tokens } : {}),
      ...(reference.truncated ? { reference: reference.tokens } : {}),
    },
  }
}

export interface EmbeddedPatchOptions extends Omit<PatchOptions, 'semantic'> {
  /** Folder of the model. */
  readonly embedding: string
  readonly pooling?: Pooling
  /** Of the semantic part, from 0 to 1. @default 1 */
  readonly semanticWeight?: number
  /** Processes that judge; each has the model in memory. @default 1 */
  readonly jobs?: number
  readonly limits?: Partial<Limits>
}

/**
 * The reward of {@link patch} with the likeness of meaning, {@link byMeaning}, for a run: judged in processes of its own.
 *
 * @throws CascadeError MODEL_INVALID or CONFIG_INVALID naming the file or option, VERIFIER_FAILED where no process can start
 */
export async function embeddedPatch(given: EmbeddedPatchOptions): Promise<Verifier & AsyncDisposable> {
  const { jobs = 1, limits, ...flags } = given
  const { embedding, pooling, semanticWeight, ...lexical } = flags
  const name = 'embedded-patch'
  const model = await hashFolder(await readFolder(embedding, pooling))
  const options = { patch: patch(lexical).codeHash, model, semanticWeight }
  const pool = new Pool(targetOf('patch', flags), { size: jobs, limits: { memoryMb: 1_024, ...limits } })
  try {
    await pool.started
  } catch (error) {
    await pool[Symbol.asyncDispose]()
    throw error
  }
  return Object.freeze({
    name,
    version: '1',
    codeHash: codeHash([import.meta.url, new URL(encoding, import.meta.url).href], options),
    async verify({ id, responseText: response, groundTruth }: Rollout, signal: AbortSignal) {
      const truth = typeof groundTruth === 'object' ? groundTruth : { groundTruth }
      const { verdict } = await pool.submit({ id, response, ...truth }, signal)
      return verdict.outcome === 'failed'
        ? { ...verdict, message: `verifier ${name}: ${verdict.message}` }
        : verdict
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  })
}

/** Sources carry the name that this file has: `.ts` here, `.js` in the built package. */
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
const encoding = `../embedding/pooling${extension}`
