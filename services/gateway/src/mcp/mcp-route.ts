import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { McpResponse, McpBody, McpHeaders } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { encodeFault, type Fault } from '../rpc/json-rpc-responses.ts';
import { toPayloadBytes } from '../http/payload.ts';
import { INVALID_REQUEST, NULL_ID, readEnvelope, type InvalidItem } from '../rpc/envelope.ts';
import { refuse, type Refusal } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';
import { VERSION } from '../http/version.ts';
import type { McpRequest } from './mcp-request.ts';
import { getGrant } from './grant.ts';
import { findInvalidParams } from './invalid-params.ts';
import { createMcpServer, type McpLibrary } from './mcp-server.ts';

const POST_DOC: RouteDoc = {
  scopes: ['mcp-client'],
  summary: 'The Model Context Protocol: agents and methods as tools.',
  description:
    'Streamable HTTP, revisions 2026-07-28 and 2025-11-25, without sessions. A token can use the tools of its mcpClient.allowlist.',
  headers: McpHeaders,
  body: McpBody,
  example: { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  responses: {
    200: { description: 'The response, or events with progress followed by the response.', schema: McpResponse },
    202: { description: 'The notification was accepted.' },
  },
  refusals: [404, 405, 406],
};

const OTHER_METHODS_DOC: RouteDoc = {
  scopes: ['mcp-client'],
  summary: 'Not supported, because the server keeps no sessions.',
  responses: {},
  refusals: [405],
};

const ROUTE = 'POST /mcp';
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
const METHOD_NOT_ALLOWED: Refusal = { status: 405, message: 'Method Not Allowed', code: 'UNIMPLEMENTED', headers: { allow: 'POST' } };
const BATCH_NOT_SUPPORTED: Fault = { ...INVALID_REQUEST, message: 'Invalid Request: a batch, where one message is expected' };
/** The URL passed to the library, which requires one. */
const INTERNAL_URL = 'http://switchyard/mcp';
const EMPTY_BODY: Buffer = Buffer.alloc(0);

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

/** `/mcp`: each request has a server of its own that ends with it. */
export function registerMcp(app: FastifyInstance, edge: Edge): void {
  let libraryPromise: Promise<LoadedLibrary> | undefined;

  app.post('/mcp', edge.route(POST_DOC), async (request, reply) => {
    const { mcp, handler } = await (libraryPromise ??= loadLibrary(edge));
    const body = Buffer.isBuffer(request.body) ? request.body : EMPTY_BODY;
    const envelope = readEnvelope(body, 1);
    if (Array.isArray(envelope)) return sendFault(edge, { request, reply }, { fault: BATCH_NOT_SUPPORTED, id: NULL_ID }, 400);
    if (envelope.fault !== undefined) return sendFault(edge, { request, reply }, envelope, 400);
    const message = JSON.parse(body.toString()) as unknown;
    const fault = envelope.id === undefined ? undefined : findInvalidParams(mcp, message);
    if (fault) return sendFault(edge, { request, reply }, { fault, id: envelope.id ?? NULL_ID }, 200);
    const disconnected = new AbortController();
    reply.raw.once('close', () => void (reply.raw.writableFinished || disconnected.abort()));
    const exchange = createMcpRequest(edge, request, disconnected.signal);
    const authInfo = { token: '', clientId: request.caller.tokenId, scopes: [...request.caller.scopes], extra: { exchange } };
    const libraryRequest = new Request(INTERNAL_URL, { method: 'POST', headers: toHeaders(request), signal: disconnected.signal });
    const response = await handler.fetch(libraryRequest, { authInfo, parsedBody: message });
    return send(edge, { request, reply }, response);
  });

  for (const verb of ['get', 'delete'] as const)
    app[verb]('/mcp', edge.route(OTHER_METHODS_DOC), (request, reply) => refuse(request, reply, METHOD_NOT_ALLOWED));
}

interface LoadedLibrary {
  mcp: McpLibrary;
  handler: McpHttpHandler;
}

/** Loads the MCP library on the first request, because it is large and most gateways never need it. */
async function loadLibrary({ log }: Edge): Promise<LoadedLibrary> {
  const mcp = await import('@modelcontextprotocol/server');
  const handler = mcp.createMcpHandler(({ authInfo }) => createMcpServer(mcp, authInfo?.extra?.['exchange'] as McpRequest, VERSION), {
    // Clients poll changed lists, because a subscription would outlive its request.
    maxSubscriptions: 0,
    onerror: (error) => log.debug({ err: error }, 'refused an MCP client'),
  });
  return { mcp, handler };
}

/** Sends a JSON-RPC error. Its status is 200 when the message itself is valid. */
function sendFault({ failures }: Edge, { request, reply }: Exchange, { fault, id }: InvalidItem, status: 200 | 400): FastifyReply {
  const { code, message } = fault;
  failures.log({ requestId: request.id, route: ROUTE, status, code, message, caller: request.caller });
  return reply
    .code(status)
    .headers(JSON_HEADERS)
    .send(toPayloadBytes(encodeFault(fault, request.id, id)));
}

function createMcpRequest(edge: Edge, request: FastifyRequest, signal: AbortSignal): McpRequest {
  const { caller, id: requestId } = request;
  const grant = getGrant(caller);
  return {
    edge,
    caller,
    grant,
    requestId,
    context: { bus: edge.bus.as(grant.principal), options: { ...createCallOptions(request), signal } },
  };
}

/** The headers that the protocol defines. */
function toHeaders({ headers }: FastifyRequest): Headers {
  const protocolHeaders = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && (name === 'accept' || name === 'content-type' || name.startsWith('mcp-')))
      protocolHeaders.set(name, value);
  }
  return protocolHeaders;
}

async function send({ failures }: Edge, { request, reply }: Exchange, { status, headers, body }: Response): Promise<FastifyReply> {
  reply.code(status).headers({ ...Object.fromEntries(headers), 'cache-control': 'no-store' });
  if (body === null) return reply.send();
  if (headers.get('content-type')?.startsWith('text/event-stream') === true) {
    return reply.send(Readable.fromWeb(body));
  }
  const answer = await text(body);
  if (status >= 400) {
    const code = status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT';
    failures.log({ requestId: request.id, route: ROUTE, status, code, message: answer, caller: request.caller });
  }
  return reply.send(answer);
}
