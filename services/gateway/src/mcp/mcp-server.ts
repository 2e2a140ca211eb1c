import type * as library from '@modelcontextprotocol/server';
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { errorData, ServiceError } from '@switchyard/contracts';
import { describeError } from '../request/failure-log.ts';
import { callTool, findTool, listTools } from './tool-call.ts';
import type { McpRequest } from './mcp-request.ts';
import { readSession, listSessionResources } from './session-resources.ts';

/** The MCP library, which is loaded on the first request. */
export type McpLibrary = typeof library;

const NAME = 'switchyard';
const INSTRUCTIONS =
  'A tool agent_<id> sends a message to an agent and returns the result of its turn. Every other tool calls the method in its title.';
const NO_TOOLS_INSTRUCTIONS = 'This token has no tools. Add tools to its mcpClient.allowlist, for example agent_* or memory_search.';

/** Creates the server of one request. */
export function createMcpServer(mcp: McpLibrary, exchange: McpRequest, version: string): Server {
  const readable = exchange.grant.sessions.length > 0;
  const server = new mcp.Server(
    { name: NAME, title: 'Switchyard', version },
    {
      capabilities: { tools: {}, ...(readable ? { resources: {} } : {}) },
      instructions: exchange.grant.empty ? NO_TOOLS_INSTRUCTIONS : INSTRUCTIONS,
    },
  );
  server.setRequestHandler('tools/list', async () => ({ tools: await convertErrors(mcp, exchange, () => listTools(exchange)) }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, context) => {
    const tool = await convertErrors(mcp, exchange, () => findTool(exchange, name));
    if (!tool) throw new mcp.ProtocolError(mcp.INVALID_PARAMS, `Unknown tool: ${name}`);
    return callTool(exchange, tool, { input, reportProgress: createProgressReporter(context) });
  });
  if (readable) addSessionResources(mcp, exchange, server);
  return server;
}

function addSessionResources(mcp: McpLibrary, exchange: McpRequest, server: Server): void {
  server.setRequestHandler('resources/list', () => ({ resources: listSessionResources(exchange) }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const contents = await convertErrors(mcp, exchange, () => readSession(exchange, uri));
    if (!contents) throw new mcp.ResourceNotFoundError(uri);
    return contents;
  });
}

/** Sends progress notifications, which extend the timeout of clients that request them. */
function createProgressReporter({ mcpReq }: ServerContext): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return () => {
    const sent = mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress } });
    sent.catch(() => undefined); // the client disconnected, which cancels the call
  };
}

/** Converts an error outside of a tool call to a protocol error and logs it. */
async function convertErrors<T>(mcp: McpLibrary, { edge, caller, requestId }: McpRequest, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
    const { code, message } = error;
    edge.failures.log({ requestId, route: 'POST /mcp', code, message, caller, ...describeError(error) });
    throw new mcp.ProtocolError(mcp.INTERNAL_ERROR, message, errorData(error, requestId));
  }
}
