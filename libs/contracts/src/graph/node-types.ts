import { z } from 'zod';
import { AgentId } from '../values/common.ts';
import { inputSchema, type JsonSchema } from '../definition/json-schema.ts';
import { MAX } from '../values/sizes.ts';

const Agents = z.array(AgentId).min(2).max(MAX.few);
const Text = z.string().min(1).max(MAX.text);

/** Schema of `type_config` for each `type_id`. */
export const nodeTypeConfigs = {
  agent: z.strictObject({ agent: AgentId, model: Text.optional(), max_steps: z.int().positive().optional() }),
  debate: z.strictObject({ agents: Agents, rounds: z.int().min(1).max(5).default(2), synthesizer: AgentId.optional() }),
  vote: z.strictObject({
    voters: Agents,
    prompt_suffix: Text.optional(),
    verdict_format: Text.optional(),
    min_voters: z.int().positive().optional(),
  }),
  refine: z.strictObject({ reviewers: Agents }),
  collaborate: z.strictObject({ agents: Agents, rounds: z.int().min(1).max(3).default(1) }),
  'approval-gate': z.strictObject({ message: Text.optional(), timeout_minutes: z.int().min(1).max(1440).default(60) }),
  'map-reduce': z.strictObject({
    mappers: z
      .array(z.strictObject({ agent: AgentId, task_suffix: Text.optional() }))
      .min(2)
      .max(MAX.few),
    reducer: AgentId,
    reducer_prompt: Text.optional(),
  }),
};

export const NodeType = z.enum(['agent', 'debate', 'vote', 'refine', 'collaborate', 'approval-gate', 'map-reduce']);
export type NodeType = z.infer<typeof NodeType>;

/** The hint that ends the refusal of a config: `Expected: { agents: string[], rounds?: number }`. */
export function expectedConfig(type: NodeType): string {
  return `Expected: ${getShape(inputSchema(nodeTypeConfigs[type]))}`;
}

function getShape(schema: JsonSchema): string {
  if (schema.type === 'array') return `${getShape(schema.items as JsonSchema)}[]`;
  if (schema.type === 'integer') return 'number';
  if (schema.type !== 'object') return String(schema.type ?? 'unknown');
  const marked = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => `${name}${schema.required?.includes(name) === true ? '' : '?'}: ${getShape(field)}`,
  );
  return `{ ${marked.join(', ')} }`;
}
