import { z } from 'zod'
import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, modelConfigSchema } from '../config.ts'

/** What a `config.json` may say; defaults are those of `LlamaConfig`. Fields not listed do not change the numbers. */
const fileSchema = z.object({
  architectures: z.array(z.string()).nullish(),
  num_labels: z.int().nullish(),
  id2label: z.record(z.string(), z.string()).nullish(),
  model_type: z.literal('llama'),
  vocab_size: z.int(),
  hidden_size: z.int(),
  num_hidden_layers: z.int(),
  num_attention_heads: z.int(),
  num_key_value_heads: z.int().nullish(),
  head_dim: z.int().nullish(),
  intermediate_size: z.int(),
  max_position_embeddings: z.int().default(2048),
  rms_norm_eps: z.number().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  rope_theta: z.number().nullish(),
  rope_parameters: z
    .object({ rope_theta: z.number().nullish(), rope_type: z.literal('default').nullish() })
    .nullish(),
  rope_scaling: z.null().optional(),
  hidden_act: z.literal('silu').default('silu'),
  attention_bias: z.literal(false).nullish(),
  mlp_bias: z.literal(false).nullish(),
})

const classifier = 'LlamaForSequenceClassification'

/**
 * A `config.json` that transformers reads as `LlamaForCausalLM`, or for a reward model as `LlamaForSequenceClassification` with one
 * label. Rotary base in its old and its new place.
 */
export function toHuggingFaceConfig({ head, ...config }: ModelConfig): Record<string, unknown> {
  const label = 'reward'
  return {
    architectures: [head === 'reward' ? classifier : 'LlamaForCausalLM'],
    model_type: 'llama',
    ...(head === 'reward' ? { num_labels: 1, id2label: { 0: label }, label2id: { [label]: 0 } } : {}),
    ...config,
    rope_parameters: { rope_type: 'default', rope_theta: config.rope_theta },
    hidden_act: 'silu',
    attention_bias: false,
    mlp_bias: false,
    bos_token_id: null,
    eos_token_id: null,
    pad_token_id: null,
    dtype: 'float32',
    torch_dtype: 'float32',
  }
}

/**
 * The model that a parsed `config.json` describes. `file` is its name for messages.
 *
 * @throws CascadeError MODEL_INVALID naming the field, also for what this engine does not do: another family, biases,
 * scaled rotary positions
 */
export function fromHuggingFaceConfig(value: unknown, file: string): ModelConfig {
  const f = checked(fileSchema, value, file)
  const isReward = f.architectures?.includes(classifier) ?? false
  // transformers leaves two labels unsaid.
  const labels = f.num_labels ?? Object.keys(f.id2label ?? { 0: '', 1: '' }).length
  if (isReward && labels !== 1) {
    throw new CascadeError(
      'MODEL_INVALID',
      `${file}: num_labels: expected 1 of a reward model, got ${labels}`,
    )
  }
  return checked(
    modelConfigSchema,
    {
      vocab_size: f.vocab_size,
      hidden_size: f.hidden_size,
      num_hidden_layers: f.num_hidden_layers,
      num_attention_heads: f.num_attention_heads,
      num_key_value_heads: f.num_key_value_heads ?? f.num_attention_heads,
      head_dim: f.head_dim ?? f.hidden_size / f.num_attention_heads,
      intermediate_size: f.intermediate_size,
      rms_norm_eps: f.rms_norm_eps,
      rope_theta: f.rope_parameters?.rope_theta ?? f.rope_theta ?? 10_000,
      max_position_embeddings: f.max_position_embeddings,
      tie_word_embeddings: f.tie_word_embeddings,
      ...(isReward ? { head: 'reward' } : {}),
    },
    file,
  )
}

function checked<T>(schema: z.ZodType<T>, value: unknown, file: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const got = path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  )
  throw new CascadeError(
    'MODEL_INVALID',
    `${file}: ${path.join('.')}: ${message}, got ${JSON.stringify(got)}`,
  )
}
