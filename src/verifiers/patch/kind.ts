import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { CascadeError } from '../../../topics/index.ts'
import type { CaseJudge, CaseKind, KindFlags, KindOptions } from '../case-kind.ts'
import { openEncoder, readFolder } from '../embedding/index.ts'
import { targetOf } from '../kinds.ts'
import { Pool } from '../pool/index.ts'
import { llmJudge } from '../preference/index.ts'
import { byMeaning } from './embedded-patch.ts'
import { byJudge, patchCriteria } from './judged-patch.ts'
import { checkedOptions, examine, type PatchCase, patchCase, patchOptions } from './patch.ts'

const semanticFlags = z.object({
  embedding: z.string().min(1).optional(),
  pooling: z.enum(['mean', 'cls']).optional(),
  semanticWeight: z.number().min(0).max(1).optional(),
  judgeUrl: z.url({ protocol: /^https?$/ }).optional(),
  judgeModel: z.string().min(1).optional(),
  /** The key itself: who reads the flags has looked it up. */
  judgeKey: z.string().min(1).optional(),
})
type SemanticFlags = z.infer<typeof semanticFlags>

/**
 * Cases of code changes. With the flag `embedding` meaning is compared as well, in the same process; with `judgeUrl` and `judgeModel` a
 * language model is asked about what is not the reference itself.
 */
export const patchKind: CaseKind<PatchCase> = {
  name: 'patch',
  version: '1',
  schema: patchCase,
  // Waiting for a judge's endpoint takes no process of its own; comparing does.
  work: (flags) => (flags.judgeUrl === undefined ? 'pure' : 'pooled'),
  async check(flags) {
    const { embedding, pooling } = checkedFlags(flags)
    if (embedding !== undefined) await readFolder(embedding, pooling)
  },
  open: (options) => (options.flags.judgeUrl === undefined ? openPure(options) : openJudged(options)),
}

async function openPure({ flags }: KindOptions): Promise<CaseJudge<PatchCase>> {
  const { embedding, pooling, semanticWeight = 1 } = checkedFlags(flags)
  const options = checkedOptions(lexicalFlags(flags))
  const encoder = embedding === undefined ? undefined : await openEncoder(embedding, pooling)
  return {
    async judge({ response, context, reference }, signal) {
      signal.throwIfAborted()
      const examined = examine(response, { context, reference }, options)
      return encoder ? byMeaning(examined, encoder, semanticWeight) : examined.verdict
    },
    async [Symbol.asyncDispose]() {
      await encoder?.[Symbol.asyncDispose]()
    },
  }
}

async function openJudged({ flags, jobs, limits }: KindOptions): Promise<CaseJudge<PatchCase>> {
  const { judgeUrl, judgeModel, judgeKey } = checkedFlags(flags)
  const judge = llmJudge({
    url: judgeUrl!,
    model: judgeModel!,
    criteria: patchCriteria,
    ...(judgeKey === undefined ? {} : { headers: { authorization: `Bearer ${judgeKey}` } }),
    ...(limits ? { timeoutMs: limits.wallMs } : {}),
  })
  // The key stays in this process.
  const target = targetOf('patch', lexicalFlags(flags))
  const pool = new Pool(target, { size: Math.min(jobs, availableParallelism()), limits })
  return {
    async judge({ prompt = '', ...given }, signal) {
      const { verdict } = await pool.submit(given, signal)
      const { response, reference } = given
      const task = typeof prompt === 'string' ? prompt : JSON.stringify(prompt)
      return byJudge(verdict, { prompt: task, response, reference }, judge, signal)
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}

function lexicalFlags(flags: KindFlags): KindFlags {
  const names = Object.keys(patchOptions.shape)
  return Object.fromEntries(Object.entries(flags).filter(([name]) => names.includes(name)))
}

function checkedFlags(flags: KindFlags): SemanticFlags {
  const parsed = semanticFlags.safeParse(flags)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new CascadeError('CONFIG_INVALID', `patch: ${path.join('.')}: ${message}`)
  }
  const { embedding, judgeUrl, judgeModel } = parsed.data
  const refuse = (name: string, expected: string, got: string): never => {
    throw new CascadeError('CONFIG_INVALID', `patch: ${name}: expected ${expected}, got ${got}`)
  }
  if (embedding !== undefined && judgeUrl !== undefined) {
    refuse('judgeUrl', 'either an embedding model or a judge', 'both')
  }
  if ((judgeUrl === undefined) !== (judgeModel === undefined)) {
    const [there, missing] = judgeUrl === undefined ? ['judgeModel', 'judgeUrl'] : ['judgeUrl', 'judgeModel']
    refuse(there, `it with ${missing}`, 'it alone')
  }
  for (const name of ['pooling', 'semanticWeight'] as const) {
    if (parsed.data[name] !== undefined && embedding === undefined) {
      refuse(name, 'it with embedding, the folder of a model', 'no model')
    }
  }
  if (parsed.data.judgeKey !== undefined && judgeUrl === undefined)
    refuse('judgeKey', 'it with judgeUrl', 'no judge')
  return parsed.data
}
