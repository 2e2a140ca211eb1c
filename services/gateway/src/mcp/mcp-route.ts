import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { McpAnswer, McpBody, McpHeaders } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { faultAnswer, type Fault } from '../rpc/json-rpc-responses.ts';
import { answerBytes } from '../http/payload.ts';
import { INVALID_REQUEST, NULL_ID, readEnvelope, type Refused } from '../rpc/envelope.ts';
import { refuse, type Refusal } from '../request/refusal.ts';
import { cutIfStalled } from '../http/response-timeout.ts';
import { callOptions } from '../request/trace.ts';
import { VERSION } from '../http/version.ts';
import type { McpExchange } from './mcp-request.ts';
import { grantOf } from './grant.ts';
import { createMcpServer } from './mcp-server.ts';

const POST: RouteDoc = {
  scopes: ['mcp-client'],
  summary: 'The Model Context Protocol: agents and methods as tools.',
  description:
    'Streamable HTTP of the revisions 2026-07-28 and 2025-11-25, without sessions. A token finds the tools that its mcpClient.allowlist names.',
  headers: McpHeaders,
  body: McpBody,
  example: { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  answers: {
    200: { description: 'The answer, or events with progress before it.', schema: McpAnswer },
    202: { description: 'A notification was taken.' },
  },
  refusals: [404, 405, 406],
};

const OTHERS: RouteDoc = {
  scopes: ['mcp-client'],
  summary: 'Nothing: no session is kept, so there is none to listen to or to end.',
  answers: {},
  refusals: [405],
};

const ROUTE = 'POST /mcp';
const JSON_ANSWER = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
const NOT_ALLOWED: Refusal = { status: 405, message: 'Method Not Allowed', code: 'UNIMPLEMENTED', headers: { allow: 'POST' } };
const NO_BATCH: Fault = { ...INVALID_REQUEST, message: 'Invalid Request: a batch, where one message is expected' };
/** What the library reads of a request's address. */
const ADDRESS = 'http://switchyard/mcp';
const NOTHING: Buffer = Buffer.alloc(0);

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

/** `/mcp`: every request is answered by itself, by a server that ends with it. */
export function registerMcp(app: FastifyInstance, edge: Edge): void {
  let opening: Promise<McpHttpHandler> | undefined;

  app.post('/mcp', edge.route(POST), async (request, reply) => {
    const handler = await (opening ??= openHandler(edge));
    const body = Buffer.isBuffer(request.body) ? request.body : NOTHING;
    const refused = refusedOf(body);
    if (refused) return answerRefused(edge, { request, reply }, refused);
    const left = new AbortController();
    reply.raw.once('close', () => void (reply.raw.writableFinished || left.abort()));
    const exchange = exchangeOf(edge, request, left.signal);
    const authInfo = { token: '', clientId: request.caller.tokenId, scopes: [...request.caller.scopes], extra: { exchange } };
    const given = new Request(ADDRESS, { method: 'POST', headers: headersOf(request), signal: left.signal });
    const response = await handler.fetch(given, { authInfo, parsedBody: JSON.parse(body.toString()) as unknown });
    return send(edge, { request, reply }, response);
  });

  for (const verb of ['get', 'delete'] as const)
    app[verb]('/mcp', edge.route(OTHERS), (request, reply) => refuse(request, reply, NOT_ALLOWED));
}

/** Loaded when the first client comes: it is large, and most gateways never need it. */
async function openHandler({ log }: Edge): Promise<McpHttpHandler> {
  const mcp = await import('@modelcontextprotocol/server');
  return mcp.createMcpHandler(({ authInfo }) => createMcpServer(mcp, authInfo?.extra?.['exchange'] as McpExchange, VERSION), {
    // A list that changes is asked for again: what would tell of it has to outlive its request.
    maxSubscriptions: 0,
    onerror: (error) => log.debug({ err: error }, 'an MCP client was refused'),
  });
}

/** What a message is refused for before anybody makes an object of it: no JSON, no message, too deep. */
function refusedOf(body: Buffer): Refused | undefined {
  const envelope = readEnvelope(body, 1);
  if (Array.isArray(envelope)) return { fault: NO_BATCH, id: NULL_ID };
  return envelope.fault === undefined ? undefined : envelope;
}

function answerRefused({ failures }: Edge, { request, reply }: Exchange, { fault, id }: Refused): FastifyReply {
  const { code, message } = fault;
  failures.note({ requestId: request.id, route: ROUTE, status: 400, code, message, caller: request.caller });
  return reply
    .code(400)
    .headers(JSON_ANSWER)
    .send(answerBytes(faultAnswer(fault, request.id, id)));
}

function exchangeOf(edge: Edge, request: FastifyRequest, signal: AbortSignal): McpExchange {
  const { caller, id: requestId } = request;
  const grant = grantOf(caller);
  return { edge, caller, grant, requestId, use: { bus: edge.bus.as(grant.principal), options: { ...callOptions(request), signal } } };
}

/** Those that the protocol knows. */
function headersOf({ headers }: FastifyRequest): Headers {
  const known = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && (name === 'accept' || name === 'content-type' || name.startsWith('mcp-'))) known.set(name, value);
  }
  return known;
}

async function send({ failures }: Edge, { request, reply }: Exchange, { status, headers, body }: Response): Promise<FastifyReply> {
  reply.code(status).headers({ ...Object.fromEntries(headers), 'cache-control': 'no-store' });
  if (body === null) return reply.send();
  if (headers.get('content-type')?.startsWith('text/event-stream') === true) {
    cutIfStalled(reply.raw, Number.POSITIVE_INFINITY);
    return reply.send(Readable.fromWeb(body));
  }
  const answer = await text(body);
  if (status >= 400) {
    const code = status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT';
    failures.note({ requestId: request.id, route: ROUTE, status, code, message: answer, caller: request.caller });
  }
  return reply.send(answer);
}
