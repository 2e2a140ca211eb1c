import type * as library from '@modelcontextprotocol/server';
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { errorData, ServiceError } from '@switchyard/contracts';
import { describeError } from '../request/failure-log.ts';
import { callTool, toolFor, toolsFor } from './tool-call.ts';
import type { McpExchange } from './mcp-request.ts';
import { readSession, sessionResources } from './session-resources.ts';

/** The library, which is loaded when the first client comes. */
export type Mcp = typeof library;

const NAME = 'switchyard';
const INSTRUCTIONS =
  'A tool agent_<id> asks an agent, and answers when its turn is done; every other tool calls the method that it is titled with.';
const NOTHING = 'This token may call nothing yet: name tools in its mcpClient.allowlist, such as agent_* or memory_search.';

/** A server for one request: whatever it answers follows from that request and its token. */
export function createMcpServer(mcp: Mcp, exchange: McpExchange, version: string): Server {
  const readable = exchange.grant.sessions.length > 0;
  const server = new mcp.Server(
    { name: NAME, title: 'Switchyard', version },
    {
      capabilities: { tools: {}, ...(readable ? { resources: {} } : {}) },
      instructions: exchange.grant.empty ? NOTHING : INSTRUCTIONS,
    },
  );
  server.setRequestHandler('tools/list', async () => ({ tools: await told(mcp, exchange, () => toolsFor(exchange)) }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, context) => {
    const tool = await told(mcp, exchange, () => toolFor(exchange, name));
    if (!tool) throw new mcp.ProtocolError(mcp.INVALID_PARAMS, `Unknown tool: ${name}`);
    return callTool(exchange, tool, { input, alive: progressOf(context) });
  });
  if (readable) serveSessions(mcp, exchange, server);
  return server;
}

function serveSessions(mcp: Mcp, exchange: McpExchange, server: Server): void {
  server.setRequestHandler('resources/list', () => ({ resources: sessionResources(exchange) }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const found = await told(mcp, exchange, () => readSession(exchange, uri));
    if (!found) throw new mcp.ResourceNotFoundError(uri);
    return found;
  });
}

/** Clients that count on progress wait longer for as long as there is some. */
function progressOf({ mcpReq }: ServerContext): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return () => {
    const told = mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress } });
    told.catch(() => undefined); // the client has left, which ends the call by itself
  };
}

/** What stops a request before it comes to a tool. */
async function told<T>(mcp: Mcp, { edge, caller, requestId }: McpExchange, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
    const { code, message } = error;
    edge.failures.note({ requestId, route: 'POST /mcp', code, message, caller, ...describeError(error) });
    throw new mcp.ProtocolError(mcp.INTERNAL_ERROR, message, errorData(error, requestId));
  }
}
