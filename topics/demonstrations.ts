import { z } from 'zod'
import { count, int32s } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** One supervised example, admitted to one step of an SFT stage. */
export const demonstrationSchema = z.looseObject({
  id: z.string().min(1),
  stage: z.string().min(1),
  domain: z.string().min(1),
  dataset: z.string(),
  promptId: z.string().min(1),
  epoch: count,
  step: z.int().min(1),
  admission: count,
  promptTokens: int32s,
  responseTokens: int32s,
})
export type Demonstration = z.infer<typeof demonstrationSchema>

export const demonstrations: Topic<Demonstration> = defineTopic<Demonstration>({
  name: 'demonstrations',
  version: 1,
  schema: demonstrationSchema,
  key: (d) => d.id,
  retention: { bytes: 256 * 1024 * 1024 },
})
