import type { CallToolResult } from '@modelcontextprotocol/server';
import { errorData, ServiceError } from '@switchyard/contracts';
import { describeError } from '../request/failure-log.ts';
import type { McpExchange } from './mcp-request.ts';
import { agentNamed, agentTools, methodTools, type McpTool } from './tools.ts';

/** What a client sent, and how it is told that its call goes on. */
interface Asked {
  input: unknown;
  alive: () => void;
}

/** The tools that are there for the token, agents first. What it may not call is not there. */
export async function toolsFor({ grant, use }: McpExchange): Promise<McpTool['definition'][]> {
  const tools = [...(await agentTools(use)), ...(await methodTools()).values()];
  return tools.map(({ definition }) => definition).filter(({ name }) => grant.mayCall(name));
}

/** The tool of that name, if the token may call it. */
export async function toolFor({ grant, use }: McpExchange, name: string): Promise<McpTool | undefined> {
  if (!grant.mayCall(name)) return undefined;
  return (await methodTools()).get(name) ?? (await agentNamed(name, use));
}

/** Never throws for what a tool says: a failure is a result that a model can read, and a program beside it. */
export async function callTool(exchange: McpExchange, tool: McpTool, { input, alive }: Asked): Promise<CallToolResult> {
  const { use } = exchange;
  try {
    limit(exchange, tool);
    const { text, value } = await tool.run(input, { ...use, alive });
    tool.count('OK');
    return { content: [{ type: 'text', text }], ...(isObject(value) ? { structuredContent: value } : {}) };
  } catch (thrown) {
    const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
    tool.count(error.code);
    return failed(exchange, tool, error);
  }
}

function limit({ edge, caller, grant }: McpExchange, { definition: { name } }: McpTool): void {
  const rate = grant.rateOf(name);
  const wait = edge.limits.toolCalls.take(`${caller.key}/${name}`, rate);
  if (wait === 0) return;
  const seconds = Math.ceil(wait / 1_000);
  throw new ServiceError('RESOURCE_EXHAUSTED', `${name} may be called ${rate.max} times a minute; try again in ${seconds} s.`, {
    details: { rate: true, retryAfterMs: wait },
  });
}

function failed({ edge, caller, requestId }: McpExchange, { definition: { name } }: McpTool, error: ServiceError): CallToolResult {
  const { code, message } = error;
  edge.failures.note({ requestId, route: 'POST /mcp', method: name, code, message, caller, ...describeError(error) });
  return { isError: true, content: [{ type: 'text', text: message }], structuredContent: { ...errorData(error, requestId) } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
