import type { CallToolResult } from '@modelcontextprotocol/server';
import { errorData, ServiceError } from '@switchyard/contracts';
import { describeError } from '../request/failure-log.ts';
import type { McpRequest } from './mcp-request.ts';
import { findAgentTool, listAgentTools, getMethodTools, type McpTool } from './tools.ts';

/** The input of a tool call and its progress callback. */
interface ToolCall {
  input: unknown;
  reportProgress: () => void;
}

/** The tools that the token may call, agents first. */
export async function listTools({ grant, context: use }: McpRequest): Promise<McpTool['definition'][]> {
  const tools = [...(await listAgentTools(use)), ...(await getMethodTools()).values()];
  return tools.map(({ definition }) => definition).filter(({ name }) => grant.mayCall(name));
}

/** The tool with this name if the token may call it. */
export async function findTool({ grant, context: use }: McpRequest, name: string): Promise<McpTool | undefined> {
  if (!grant.mayCall(name)) return undefined;
  return (await getMethodTools()).get(name) ?? (await findAgentTool(name, use));
}

/** Calls a tool. A failure is a result too, as text for a model and as structured content for a program. */
export async function callTool(exchange: McpRequest, tool: McpTool, { input, reportProgress }: ToolCall): Promise<CallToolResult> {
  const { context: use } = exchange;
  try {
    checkRate(exchange, tool);
    const { text, value } = await tool.run(input, { ...use, reportProgress });
    tool.count('OK');
    return { content: [{ type: 'text', text }], ...(isObject(value) ? { structuredContent: value } : {}) };
  } catch (thrown) {
    const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
    tool.count(error.code);
    return createErrorResult(exchange, tool, error);
  }
}

function checkRate({ edge, caller, grant }: McpRequest, { definition: { name } }: McpTool): void {
  const rate = grant.getRate(name);
  const wait = edge.limits.toolCalls.take(`${caller.key}/${name}`, rate);
  if (wait === 0) return;
  const seconds = Math.ceil(wait / 1_000);
  throw new ServiceError('RESOURCE_EXHAUSTED', `${name} is limited to ${rate.max} calls a minute; retry in ${seconds} s.`, {
    details: { rate: true, retryAfterMs: wait },
  });
}

function createErrorResult(
  { edge, caller, requestId }: McpRequest,
  { definition: { name } }: McpTool,
  error: ServiceError,
): CallToolResult {
  const { code, message } = error;
  edge.failures.log({ requestId, route: 'POST /mcp', method: name, code, message, caller, ...describeError(error) });
  return { isError: true, content: [{ type: 'text', text: message }], structuredContent: { ...errorData(error, requestId) } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
