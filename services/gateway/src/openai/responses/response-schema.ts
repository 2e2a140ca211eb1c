import { MAX, maxKeys } from '@switchyard/contracts';
import { z } from 'zod';
import { LenientInput } from './lenient-items.ts';
import { LenientTool, LenientToolChoice } from './lenient-tools.ts';
import { ResponseInput } from './response-items.ts';
import { ResponseTool, ResponseToolChoice, type RequestedTool } from './response-tools.ts';
import { name, schema, text } from '../openai-fields.ts';

const MAX_PAIRS = 16;
const key = z.string().max(64);

/** The supported fields of the Open Responses specification, and fields that can be ignored. */
const fields = {
  model: name,
  input: ResponseInput,
  instructions: text.optional(),
  previous_response_id: z.string().max(MAX.id).optional(),
  stream: z.boolean().default(false),
  store: z.boolean().default(true),
  background: z.boolean().default(false),
  temperature: z.number().min(0).max(2).optional(),
  max_output_tokens: z.int().positive().optional(),
  tools: z.array(ResponseTool).max(MAX.many).default([]),
  tool_choice: ResponseToolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  text: z
    .object({
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('text') }),
          z.object({ type: z.literal('json_object') }),
          z.object({ type: z.literal('json_schema'), name, schema, strict: z.boolean().nullish(), description: text.nullish() }),
        ])
        .nullish(),
    })
    .optional(),
  metadata: z.record(key, z.string().max(512)).check(maxKeys(MAX_PAIRS)).default({}),
  truncation: z.enum(['auto', 'disabled']).default('disabled'),
  service_tier: z.enum(['auto', 'default', 'flex', 'priority']).optional(),
  safety_identifier: key.optional(),
  prompt_cache_key: key.optional(),
  include: z.array(z.string().max(MAX.name)).max(MAX.few).optional(),
  stream_options: z.object({ include_obfuscation: z.boolean().optional() }).optional(),
};

/** Options that no model here supports; only their neutral value is accepted. */
const neutralFields = {
  top_p: z.literal(1).optional(),
  presence_penalty: z.literal(0).optional(),
  frequency_penalty: z.literal(0).optional(),
  top_logprobs: z.literal(0).optional(),
  max_tool_calls: z.undefined().optional(),
  reasoning: z.object({ effort: z.null().optional(), summary: z.null().optional() }).optional(),
};
const absent = z.never().optional();

/** The fields that every token may send. */
export const StrictBody = z.strictObject({ ...fields, ...neutralFields });
/** Fields that lenient clients may send with more kinds of values. */
const lenientFields = {
  input: LenientInput,
  tools: z
    .array(LenientTool)
    .max(MAX.many)
    .default([])
    .transform((tools) => tools.flat()),
  tool_choice: LenientToolChoice.optional(),
  service_tier: z.unknown().optional(),
  truncation: fields.truncation.catch('disabled'),
};
/** Lenient clients may send further fields, which are ignored, except those that select another conversation. */
export const LenientBody = z.object({ ...fields, ...lenientFields, conversation: absent, prompt: absent });
type StrictFields = z.output<z.ZodObject<typeof fields>>;
export type ResponseBody = Omit<StrictFields, 'tools' | 'service_tier'> & { tools: RequestedTool[] };
