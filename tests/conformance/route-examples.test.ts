import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startEmbedded, type Running } from '../e2e/embedded.ts';
import { mint } from '../e2e/exchange.ts';

interface Operation {
  tags: [string];
  parameters?: { name: string; in: string; required: boolean; example?: string }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

let upstream: Upstream;
let product: Running;
let document: Document;
let mcpToken: string;

before(async () => {
  upstream = await startUpstream();
  const env = { OPENAI_API_KEY: 'sk-for-the-examples', OPENAI_BASE_URL: upstream.url };
  product = await startEmbedded({ env, config: { models: { dev: true, defaultModel: 'dev/echo' } } });
  ({ secret: mcpToken } = await mint(product, 'mcp-client'));
  document = (await (await fetch(`${product.url}/openapi.json`, { headers: bearer(product.token) })).json()) as Document;
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const VECTORS = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
  model: 'small',
  usage: { prompt_tokens: 1 },
};

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

async function issueTicket(): Promise<string> {
  const response = await fetch(`${product.url}/api/tickets`, { method: 'POST', headers: bearer(product.token) });
  return ((await response.json()) as { ticket: string }).ticket;
}

interface Shown {
  verb: string;
  path: string;
  operation: Operation;
  body: unknown;
  query: Record<string, string>;
}

/** The documented requests. Requests signed by another system have no example. */
function render(): Shown[] {
  return Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, operation]) => {
      const { parameters = [], requestBody, tags } = operation;
      const needed = requestBody !== undefined || parameters.some(({ in: location, required }) => location === 'query' && required);
      if (!needed || tags[0] === 'webhooks') return [];
      const query = Object.fromEntries(parameters.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]])));
      return [{ verb, path, operation, query, body: requestBody?.content['application/json']?.example }];
    }),
  );
}

test('every route with a required body has an example', () => {
  const all = render();
  assert.ok(all.length >= 8, `${all.length} of them`);
  for (const { path, body, query } of all) assert.ok(body !== undefined || Object.keys(query).length > 0, path);
});

test('every example of /openapi.json gets the documented response', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const { verb, path, operation, body, query } of render()) {
    if (path === '/v1/embeddings') upstream.respond({ kind: 'answer', body: VECTORS });
    const sent = path === '/api/sign-in' ? { ticket: await issueTicket() } : body; // a ticket works once
    const response = await fetch(`${product.url}${path}?${new URLSearchParams(query).toString()}`, {
      method: verb.toUpperCase(),
      headers: {
        ...bearer(path === '/mcp' ? mcpToken : product.token),
        accept: 'application/json, text/event-stream',
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    });
    const text = await response.text();
    const status = path === '/api/sign-in' ? 201 : 200;
    assert.equal(response.status, status, `${path}: ${text}`);
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    const { schema = {} } = operation.responses[status]?.content?.[type] ?? {};
    if (type !== 'application/json') continue;
    const isSo = ajv.compile({ ...schema, components: document.components });
    assert.ok(isSo(JSON.parse(text)), `${path}: ${ajv.errorsText(isSo.errors)}`);
    assert.ok(path !== '/rpc' || 'result' in (JSON.parse(text) as object), text);
  }
});
