import { inputSchema, outputSchema, type JsonSchema } from '@switchyard/contracts';
import { http } from '@switchyard/service-kit';
import type { z } from 'zod';
import { getSurface } from '../request/refusal.ts';
import type { ResponseDoc, Route, RouteDoc } from './route-doc.ts';

const DIALECT = 'draft-2020-12';
/** Error statuses of every route, of routes with a token, and of routes with a body. */
const ANY_STATUSES = [400];
const GUARDED_STATUSES = [401, 403, 429, 503];
const BODY_STATUSES = [413, 415];

const TAGS = {
  api: 'REST routes for dashboards: turns, events, agents and memory.',
  v1: 'OpenAI-compatible routes.',
  webhooks: 'Webhooks of other systems, authenticated by a signature instead of a token.',
  media: 'Stored files.',
  mcp: 'The Model Context Protocol: agents and methods as tools.',
  rpc: 'JSON-RPC 2.0. Its methods are described in /openrpc.json.',
  documents: 'Descriptions of the interface, and the dashboard.',
  health: 'Probes, which require no token.',
};

interface Operation {
  operationId: string;
  [member: string]: unknown;
}

export interface OpenApiDocument {
  openapi: '3.1.1';
  info: Record<string, unknown>;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  security: Record<string, never[]>[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

/** Builds the OpenAPI 3.1 document of all documented routes. Yields after each route, so that other work can run in between. */
export function* buildOpenApiInSteps(
  routes: readonly Route[],
  { url, version }: { url: string; version: string },
): Generator<undefined, OpenApiDocument> {
  const paths: OpenApiDocument['paths'] = {};
  for (const { verb, path, doc } of routes) {
    if (doc === undefined) continue;
    const openApiPath = path.replace('*', `{${doc.wildcard ?? 'rest'}}`).replaceAll(/:(\w+)/g, '{$1}');
    (paths[openApiPath] ??= {})[verb.toLowerCase()] = createOperation(verb, openApiPath, doc);
    yield;
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Switchyard',
      version,
      summary: 'The HTTP interface of an agent gateway.',
      description: 'Routes under /api and /v1, and JSON-RPC over POST /rpc. Its methods are described in /openrpc.json.',
      contact: { name: 'The operator of this gateway' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url, description: 'This gateway' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths,
    components: COMPONENTS,
  };
}

function createOperation(verb: string, path: string, doc: RouteDoc): Operation {
  const { summary, description = summary, scopes, body, open } = doc;
  const parameters = createParameters(path, doc);
  return {
    operationId: `${verb.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(\w?)/g, (_, first: string) => first.toUpperCase())}`,
    tags: [doc.tag ?? findTag(path)],
    summary,
    description: scopes === undefined ? description : `${description} Requires a token with the scope ${scopes.join(' or ')}.`,
    ...(open ? { security: [] } : doc.tokenInQuery ? { security: [{ bearer: [] }, { queryTicket: [] }, { queryToken: [] }] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: createJsonContent(inputSchema(body, DIALECT), doc.example?.body) } }),
    responses: createResponses(path, doc),
  };
}

/** Tags that equal the first segment of their paths. */
const SECTIONS = ['api', 'v1', 'rpc', 'media', 'mcp'] as const;

function findTag(path: string): keyof typeof TAGS {
  const first = path.split('/', 2)[1] ?? '';
  if (path === '/api/health' || /^(health|livez|readyz|startupz)$/.test(first)) return 'health';
  return SECTIONS.find((section) => section === first) ?? 'documents';
}

function createParameters(path: string, { query, headers, example }: RouteDoc): unknown[] {
  const pathParameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  return [...pathParameters, ...createMemberParameters(query, 'query', example?.query), ...createMemberParameters(headers, 'header')];
}

function createMemberParameters(
  schema: z.ZodObject | undefined,
  location: 'query' | 'header',
  examples: Readonly<Record<string, string>> = {},
): unknown[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = inputSchema(schema, DIALECT);
  return Object.entries(properties).map(([name, { description, ...rest }]) => {
    const documentation = {
      ...(description === undefined ? {} : { description }),
      ...(name in examples ? { example: examples[name] } : {}),
    };
    return { name, in: location, required: required.includes(name), ...documentation, schema: rest };
  });
}

function createResponses(path: string, { responses: answers, refusals = [], open, body }: RouteDoc): Record<string, unknown> {
  const statuses = [...ANY_STATUSES, ...(open ? [] : GUARDED_STATUSES), ...(body ? BODY_STATUSES : []), ...refusals];
  const error = {
    $ref: `#/components/schemas/${getSurface(path) === 'v1' ? 'CompletionError' : getSurface(path) === 'rpc' ? 'RpcError' : 'Error'}`,
  };
  const errorResponses = statuses.map((status) => [
    status,
    { description: http.STATUS_CODES[status] ?? '', content: createJsonContent(error) },
  ]);
  const successResponses = Object.entries(answers).map(([status, response]) => [status, createResponse(response)]);
  return Object.fromEntries([...errorResponses, ...successResponses]) as Record<string, unknown>;
}

function createResponse({ description, schema, type }: ResponseDoc): Record<string, unknown> {
  if (schema !== undefined) return { description, content: createJsonContent(outputSchema(schema, DIALECT)) };
  return type === undefined
    ? { description }
    : { description, content: { [type]: { schema: type === 'application/json' ? {} : { type: 'string' } } } };
}

function createJsonContent(schema: JsonSchema | { $ref: string }, example?: unknown): Record<string, unknown> {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}

const TEXT = { type: 'string' };
const PROBLEM = { title: TEXT, status: { type: 'integer' }, detail: TEXT, code: TEXT, reason: TEXT, requestId: TEXT };

const COMPONENTS = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'A token of this gateway, created with tokens.create.' },
    queryTicket: { type: 'apiKey', in: 'query', name: 'ticket', description: 'A one-time ticket from POST /api/tickets.' },
    queryToken: { type: 'apiKey', in: 'query', name: 'token', description: 'The token, for clients that cannot set headers.' },
  },
  schemas: {
    Error: {
      type: 'object',
      description: 'An error message. Errors that a program can handle are also RFC 9457 problems.',
      required: ['error'],
      properties: { error: TEXT, type: TEXT, ...PROBLEM },
    },
    CompletionError: {
      type: 'object',
      description: 'An error in the OpenAI format. Errors that a program can handle are also RFC 9457 problems.',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['message', 'type', 'param', 'code'],
          properties: { message: TEXT, type: TEXT, param: { type: ['string', 'null'] }, code: { type: 'null' } },
        },
        type: TEXT,
        ...PROBLEM,
      },
    },
    RpcError: {
      type: 'object',
      description: 'Authentication, rate limit and server errors are JSON-RPC errors without an id. Other errors are a message.',
      anyOf: [
        {
          required: ['jsonrpc', 'error', 'id'],
          properties: {
            jsonrpc: { const: '2.0' },
            error: {
              type: 'object',
              required: ['code', 'message'],
              properties: { code: { type: 'integer' }, message: TEXT, data: { type: 'object' } },
            },
            id: { type: 'null' },
          },
        },
        { required: ['error'], properties: { error: TEXT } },
      ],
    },
  },
};
