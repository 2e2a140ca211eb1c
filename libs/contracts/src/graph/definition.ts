import { z } from 'zod';
import { JsonObject, ActingAgentId } from '../values/common.ts';
import { resolveAliases } from '../values/field-aliases.ts';
import { NodeType } from './node-types.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const NodeId = boundedString(MAX.id)
  .regex(/^[A-Za-z0-9_-]{1,128}$/)
  .describe('letters, digits, - and _; used in templates and file names');

/** Characters of one task. Together with the outputs that it inlines it fits one message of a turn. */
const MAX_TASK_CHARS = 262_144;

const fields = {
  node_id: NodeId,
  task: z.string().min(1).max(MAX_TASK_CHARS).describe('may use {{nodeId.result}} of its dependencies and ${NAME} of the inputs'),
  depends_on: z.array(NodeId).max(MAX.few),
  agent: ActingAgentId,
  model: z.string().min(1).max(256),
  timeout_ms: z.int().positive(),
  max_steps: z.int().positive(),
  barrier_mode: z.enum(['all', 'majority', 'best-effort']).describe('number of dependencies that must complete'),
  retries: z.int().min(0).max(3).describe('default: 1; for an approval-gate 0'),
  context_mode: z.enum(['full', 'summary', 'refs', 'none']).describe('share of upstream outputs included in the prompt'),
  type_id: NodeType,
  type_config: JsonObject.describe('configuration of the type; validated by the service'),
  mcp_servers: z.array(z.string().min(1).max(MAX.name)).max(MAX.few).describe('the only MCP servers this node may use'),
};

/** A node as the interface spells it, with every default filled in: what a handler receives. */
export const GraphNode = z
  .strictObject({
    ...fields,
    depends_on: fields.depends_on.default([]),
    agent: fields.agent.optional(),
    model: fields.model.optional(),
    timeout_ms: fields.timeout_ms.optional(),
    max_steps: fields.max_steps.optional(),
    barrier_mode: fields.barrier_mode.default('all'),
    retries: fields.retries.optional(),
    context_mode: fields.context_mode.default('full'),
    type_id: fields.type_id.optional(),
    type_config: fields.type_config.optional(),
    mcp_servers: fields.mcp_servers.optional(),
  })
  .check(({ value, issues }) => {
    if ((value.type_id === undefined) === (value.type_config === undefined)) return;
    const missing = value.type_id === undefined ? 'type_id' : 'type_config';
    issues.push({ code: 'custom', path: [missing], message: 'type_id and type_config together', input: undefined });
  });
export type GraphNode = z.infer<typeof GraphNode>;

const spellings = {
  node_id: ['nodeId'],
  depends_on: ['dependsOn'],
  agent: ['agentId'],
  timeout_ms: ['timeoutMs'],
  max_steps: ['maxSteps'],
  barrier_mode: ['barrierMode'],
  context_mode: ['contextMode'],
  type_id: ['typeId'],
  type_config: ['typeConfig'],
  mcp_servers: ['mcpServers'],
};

/** A node as a caller may write it: each name in snake case or in camelCase, and `agentId` for `agent`. */
export const GraphNodeInput = z
  .strictObject({
    ...z
      .object({
        ...fields,
        nodeId: fields.node_id,
        dependsOn: fields.depends_on,
        agentId: fields.agent,
        timeoutMs: fields.timeout_ms,
        maxSteps: fields.max_steps,
        barrierMode: fields.barrier_mode,
        contextMode: fields.context_mode,
        typeId: fields.type_id,
        typeConfig: fields.type_config,
        mcpServers: fields.mcp_servers,
      })
      .partial().shape,
    task: fields.task,
  })
  .describe('requires node_id (or nodeId) and task; each name in one spelling, agent also as agentId')
  .transform((node, ctx) => resolveAliases(node, spellings, ctx))
  .pipe(GraphNode);

/** Params of `graph.define`. The service detects cycles, unknown dependencies and duplicate ids. */
export const GraphDefinition = z.strictObject({
  nodes: z.array(GraphNodeInput).min(1).max(20),
  label: z.string().min(1).max(200).optional(),
  onFailure: z.enum(['fail-fast', 'continue']).default('fail-fast'),
  timeoutMs: z.int().positive().default(1_500_000),
  budget: z.strictObject({ maxTokens: z.int().positive().optional(), maxCost: z.number().positive().optional() }).optional(),
  edges: z
    .array(z.strictObject({ from: NodeId, to: NodeId }))
    .max(MAX.many)
    .optional()
    .describe('alias of depends_on'),
});
export type GraphDefinition = z.output<typeof GraphDefinition>;
