import type { Bus, CallOptions } from '@switchyard/bus';
import { inputSchema, MAX, parseParams, publicMethods, unserved, type Callable, type MethodName } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { inSteps } from '@switchyard/service-kit';
import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { toServiceError } from '../turns/turn-errors.ts';
import { createCallCounter, type CountCall } from '../rpc/call-metrics.ts';

/** The context of a tool call. */
export interface ToolContext {
  /** Calls as the principal of the token. */
  bus: Bus;
  options: CallOptions & { signal: AbortSignal };
  /** Reports that the call is still running. */
  reportProgress: () => void;
}

/** A tool. */
export interface McpTool {
  definition: Tool;
  count: CountCall;
  run(input: unknown, use: ToolContext): Promise<ToolResult>;
}

/** The result of a tool: text for a model, and a value for a program. */
interface ToolResult {
  text: string;
  value: unknown;
}

const AGENT_PREFIX = 'agent_';

let methods: Promise<ReadonlyMap<string, McpTool>> | undefined;

/** The served methods that are tools, by tool name. */
export function getMethodTools(): Promise<ReadonlyMap<string, McpTool>> {
  return (methods ??= inSteps(describeMethods()));
}

function* describeMethods(): Generator<undefined, ReadonlyMap<string, McpTool>> {
  const tools = new Map<string, McpTool>();
  for (const method of publicMethods.values()) {
    if (!method.tool || method.streams || unserved.has(method.name as MethodName)) continue;
    tools.set(method.tool.name, createMethodTool(method, method.tool.name));
    yield;
  }
  return tools;
}

function createMethodTool({ name, idempotent, audited, spec }: Callable, tool: string): McpTool {
  return {
    definition: {
      name: tool,
      title: name,
      description: spec.summary,
      inputSchema: toObjectSchema(spec.params),
      annotations: { idempotentHint: idempotent, destructiveHint: audited === 'destructive', openWorldHint: false },
    },
    count: createCallCounter(name),
    async run(input, { bus, options }) {
      const value: unknown = await bus.call(name as 'system.ping', input as Record<string, never>, options);
      return { text: JSON.stringify(value ?? null), value };
    },
  };
}

/** The input of an agent tool. */
export const AgentToolInput = z.strictObject({ message: z.string().min(1).max(MAX.text).describe('the message to the agent') });
const countAgents = createCallCounter('turns.run');

/** The active agents of the tenant as tools. */
export async function listAgentTools({ bus, options }: Pick<ToolContext, 'bus' | 'options'>): Promise<McpTool[]> {
  const { agents } = await bus.call('agents.visible', {}, options);
  return agents.filter(({ status }) => status === 'active').map(({ id, name }) => createAgentTool(id, name));
}

/** The agent tool with this name. */
export async function findAgentTool(tool: string, use: Pick<ToolContext, 'bus' | 'options'>): Promise<McpTool | undefined> {
  return tool.startsWith(AGENT_PREFIX) ? (await listAgentTools(use)).find(({ definition }) => definition.name === tool) : undefined;
}

/** Runs a stateless turn, which is cancelled when the client disconnects. */
function createAgentTool(id: string, name: string): McpTool {
  return {
    definition: {
      name: `${AGENT_PREFIX}${id}`,
      title: name,
      description: `Sends a message to the agent ${name} and returns its response. The agent does not remember earlier calls of this tool.`,
      inputSchema: toObjectSchema(AgentToolInput),
      annotations: { idempotentHint: false, openWorldHint: true },
    },
    count: countAgents,
    async run(input, { bus, options, reportProgress }) {
      const { message } = parseParams(AgentToolInput, input);
      const frames = bus.stream('turns.run', { turnId: mintId('turn'), model: id, message }, options);
      let step = await frames.next();
      for (; !step.done; step = await frames.next()) {
        if (step.value.type === 'error') throw toServiceError(step.value.error);
        if (step.value.type !== 'delta') reportProgress();
      }
      const { response, tokensUsed, finishReason } = step.value;
      return { text: response, value: { response, tokensUsed, finishReason } };
    },
  };
}

/** The protocol requires the input schema to be an object. */
function toObjectSchema(schema: z.ZodType): Tool['inputSchema'] {
  return { ...inputSchema(schema, 'draft-2020-12'), type: 'object' } as Tool['inputSchema'];
}
