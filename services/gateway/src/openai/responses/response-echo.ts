import type { ResponseBody } from './response-schema.ts';
import { createToolEcho } from './response-tools.ts';

/** The request fields that a response resource repeats, with defaults for omitted fields. */
export function createResponseEcho(body: ResponseBody): Record<string, unknown> {
  const { format } = body.text ?? {};
  return {
    model: body.model,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    tools: body.tools.map(createToolEcho),
    tool_choice: body.tool_choice ?? 'auto',
    truncation: body.truncation,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    text: { format: format ?? { type: 'text' } },
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    temperature: body.temperature ?? 1,
    reasoning: null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    store: body.store,
    background: body.background,
    service_tier: 'default',
    metadata: body.metadata,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  };
}
