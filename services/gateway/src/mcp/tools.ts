import type { Bus, CallOptions } from '@switchyard/bus';
import { inputSchema, MAX, parseParams, publicMethods, toolName, unserved, type Callable, type MethodName } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { inSteps } from '@switchyard/service-kit';
import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { failureError } from '../turns/turn-errors.ts';
import { countCallsOf, type CountCall } from '../rpc/call-metrics.ts';

/** How a tool is called: for whom, and within what. */
export interface ToolUse {
  /** Speaks for the token. */
  bus: Bus;
  options: CallOptions & { signal: AbortSignal };
  /** Says that the call goes on. */
  alive: () => void;
}

/** Something a client may call. */
export interface McpTool {
  definition: Tool;
  count: CountCall;
  run(input: unknown, use: ToolUse): Promise<Answered>;
}

/** What a tool answered: as a text for a model, and for a program. */
interface Answered {
  text: string;
  value: unknown;
}

const AGENT = 'agent_';

let methods: Promise<ReadonlyMap<string, McpTool>> | undefined;

/** Every method that may be a tool and that somebody serves, by the name of its tool. */
export function methodTools(): Promise<ReadonlyMap<string, McpTool>> {
  return (methods ??= inSteps(describeMethods()));
}

function* describeMethods(): Generator<undefined, ReadonlyMap<string, McpTool>> {
  const tools = new Map<string, McpTool>();
  for (const method of publicMethods.values()) {
    if (!method.tool || method.streams || unserved.has(method.name as MethodName)) continue;
    tools.set(toolName(method.name), methodTool(method));
    yield;
  }
  return tools;
}

function methodTool({ name, idempotent, audited, spec }: Callable): McpTool {
  return {
    definition: {
      name: toolName(name),
      title: name,
      description: spec.summary,
      inputSchema: objectSchema(spec.params),
      annotations: { idempotentHint: idempotent, destructiveHint: audited === 'destructive', openWorldHint: false },
    },
    count: countCallsOf(name),
    async run(input, { bus, options }) {
      const value: unknown = await bus.call(name as 'system.ping', input as Record<string, never>, options);
      return { text: JSON.stringify(value ?? null), value };
    },
  };
}

/** What an agent's tool takes. */
export const Asked = z.strictObject({ message: z.string().min(1).max(MAX.text).describe('what the agent is asked') });
const countAgents = countCallsOf('turns.run');

/** The agents of the tenant that answer now, each as a tool. */
export async function agentTools({ bus, options }: Pick<ToolUse, 'bus' | 'options'>): Promise<McpTool[]> {
  const { agents } = await bus.call('agents.visible', {}, options);
  return agents.filter(({ status }) => status === 'active').map(({ id, name }) => agentTool(id, name));
}

/** The agent that a tool is named after; undefined for one that is named after something else. */
export async function agentNamed(tool: string, use: Pick<ToolUse, 'bus' | 'options'>): Promise<McpTool | undefined> {
  return tool.startsWith(AGENT) ? (await agentTools(use)).find(({ definition }) => definition.name === tool) : undefined;
}

/** One turn, of which nothing is kept: leaving it cancels it. */
function agentTool(id: string, name: string): McpTool {
  return {
    definition: {
      name: `${AGENT}${id}`,
      title: name,
      description: `Asks the agent ${name}, and answers when it is done. It remembers nothing of what this tool asked it before.`,
      inputSchema: objectSchema(Asked),
      annotations: { idempotentHint: false, openWorldHint: true },
    },
    count: countAgents,
    async run(input, { bus, options, alive }) {
      const { message } = parseParams(Asked, input);
      const frames = bus.stream('turns.run', { turnId: mintId('turn'), model: id, message }, options);
      let step = await frames.next();
      for (; !step.done; step = await frames.next()) {
        if (step.value.type === 'error') throw failureError(step.value.error);
        if (step.value.type !== 'delta') alive();
      }
      const { response, tokensUsed, finishReason } = step.value;
      return { text: response, value: { response, tokensUsed, finishReason } };
    },
  };
}

/** What a tool takes is always an object, as the protocol wants it said. */
function objectSchema(schema: z.ZodType): Tool['inputSchema'] {
  return { ...inputSchema(schema, 'draft-2020-12'), type: 'object' } as Tool['inputSchema'];
}
