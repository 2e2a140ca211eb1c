import { inputSchema, outputSchema, type JsonSchema } from '@switchyard/contracts';
import { http } from '@switchyard/service-kit';
import type { z } from 'zod';
import { getSurface } from '../request/refusal.ts';
import type { AnswerDoc, Route, RouteDoc } from './route-doc.ts';

const DIALECT = 'draft-2020-12';
/** Error statuses of every route, of routes with a token, and of routes with a body. */
const ANY = [400];
const GUARDED = [401, 403, 429, 503];
const WITH_BODY = [413, 415];

const TAGS = {
  api: 'What a dashboard asks: turns, events, agents, memory.',
  v1: 'What clients of the chat-completions protocol ask.',
  webhooks: 'What other systems tell. A signature stands in for a token.',
  media: 'Files that were kept.',
  mcp: 'The Model Context Protocol: agents and methods as tools.',
  rpc: 'JSON-RPC 2.0; its methods are described by /openrpc.json.',
  documents: 'What this gateway says of itself.',
  health: 'Probes; nobody needs a token for them.',
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

/** Every documented route as an OpenAPI 3.1 document, for the edge that answers at `url`: route by route, so that others go on in between. */
export function* openApiSteps(
  routes: readonly Route[],
  { url, version }: { url: string; version: string },
): Generator<undefined, OpenApiDocument> {
  const paths: OpenApiDocument['paths'] = {};
  for (const { verb, path, doc } of routes) {
    if (doc === undefined) continue;
    const written = path.replace('*', `{${doc.wildcard ?? 'rest'}}`).replaceAll(/:(\w+)/g, '{$1}');
    (paths[written] ??= {})[verb.toLowerCase()] = operationOf(verb, written, doc);
    yield;
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Switchyard',
      version,
      summary: 'The HTTP interface of an agent gateway.',
      description: 'Routes under /api and /v1, and JSON-RPC over POST /rpc, whose methods stand in /openrpc.json.',
      contact: { name: 'Whoever runs this gateway' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url, description: 'This gateway' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths,
    components: COMPONENTS,
  };
}

function operationOf(verb: string, path: string, doc: RouteDoc): Operation {
  const { summary, description = summary, scopes, body, open } = doc;
  const parameters = parametersOf(path, doc);
  return {
    operationId: `${verb.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+(\w?)/g, (_, first: string) => first.toUpperCase())}`,
    tags: [doc.tag ?? tagOf(path)],
    summary,
    description: scopes === undefined ? description : `${description} Needs a token with the scope ${scopes.join(' or ')}.`,
    ...(open ? { security: [] } : doc.tokenInQuery ? { security: [{ bearer: [] }, { queryTicket: [] }, { queryToken: [] }] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(inputSchema(body, DIALECT), doc.example?.body) } }),
    responses: responsesOf(path, doc),
  };
}

/** First parts of paths that are the names of their tags. */
const SECTIONS = ['api', 'v1', 'rpc', 'media', 'mcp'] as const;

function tagOf(path: string): keyof typeof TAGS {
  const first = path.split('/', 2)[1] ?? '';
  if (path === '/api/health' || /^(health|livez|readyz|startupz)$/.test(first)) return 'health';
  return SECTIONS.find((section) => section === first) ?? 'documents';
}

function parametersOf(path: string, { query, headers, example }: RouteDoc): unknown[] {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  return [...named, ...membersOf(query, 'query', example?.query), ...membersOf(headers, 'header')];
}

function membersOf(schema: z.ZodObject | undefined, where: 'query' | 'header', examples: Readonly<Record<string, string>> = {}): unknown[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = inputSchema(schema, DIALECT);
  return Object.entries(properties).map(([name, { description, ...rest }]) => {
    const said = { ...(description === undefined ? {} : { description }), ...(name in examples ? { example: examples[name] } : {}) };
    return { name, in: where, required: required.includes(name), ...said, schema: rest };
  });
}

function responsesOf(path: string, { answers, refusals = [], open, body }: RouteDoc): Record<string, unknown> {
  const given = [...ANY, ...(open ? [] : GUARDED), ...(body ? WITH_BODY : []), ...refusals];
  const error = {
    $ref: `#/components/schemas/${getSurface(path) === 'v1' ? 'CompletionError' : getSurface(path) === 'rpc' ? 'RpcError' : 'Error'}`,
  };
  const refused = given.map((status) => [status, { description: http.STATUS_CODES[status] ?? '', content: json(error) }]);
  const answered = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)]);
  return Object.fromEntries([...refused, ...answered]) as Record<string, unknown>;
}

function answerOf({ description, schema, type }: AnswerDoc): Record<string, unknown> {
  if (schema !== undefined) return { description, content: json(outputSchema(schema, DIALECT)) };
  return type === undefined
    ? { description }
    : { description, content: { [type]: { schema: type === 'application/json' ? {} : { type: 'string' } } } };
}

function json(schema: JsonSchema | { $ref: string }, example?: unknown): Record<string, unknown> {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}

const TEXT = { type: 'string' };
const PROBLEM = { title: TEXT, status: { type: 'integer' }, detail: TEXT, code: TEXT, reason: TEXT, requestId: TEXT };

const COMPONENTS = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'A token of this gateway; tokens.create makes one.' },
    queryTicket: { type: 'apiKey', in: 'query', name: 'ticket', description: 'What POST /api/tickets gave, once.' },
    queryToken: { type: 'apiKey', in: 'query', name: 'token', description: 'The same token, where a header cannot be set.' },
  },
  schemas: {
    Error: {
      type: 'object',
      description: 'What is wrong, in a sentence; where a program could act on it, a problem as RFC 9457 has them.',
      required: ['error'],
      properties: { error: TEXT, type: TEXT, ...PROBLEM },
    },
    CompletionError: {
      type: 'object',
      description: 'An error as clients of the protocol read it; where a program could act on it, a problem as RFC 9457 has them.',
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
      description: 'What is about the client or the server is a JSON-RPC error without an id; what is about the request is a sentence.',
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
