import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { callables, DISCOVER, publicMethods, type MethodScope, type TokenScope } from '@switchyard/contracts';
import type { Running } from '../e2e/embedded.ts';
import { call, mint, openSocket, request, TRANSPORTS, type Answer } from '../e2e/exchange.ts';
import { onEachProfile } from '../e2e/profiles.ts';
import { callAll } from './call-all.ts';

/** The scopes that each kind of token has over JSON-RPC. Scopes have no hierarchy. */
const OPENS: Readonly<Record<TokenScope, readonly MethodScope[]>> = {
  rpc: ['rpc'],
  admin: ['admin'],
  '*': ['rpc', 'admin'],
  api: [],
  'mcp-client': [],
};
/** Restricted tokens: they access fewer objects, through the methods of their scopes. */
const HELD_BACK = {
  'rpc, held to an agent': { scopes: ['rpc'], agents: ['default'] },
  'rpc, held to its own sessions': { scopes: ['rpc'], sessions: 'own' },
  'rpc of another tenant': { scopes: ['rpc'], tenant: 'elsewhere' },
  'admin of another tenant': { scopes: ['admin'], tenant: 'elsewhere' },
} as const;
/** Why they do not receive all events. */
const TOLD_SOME: Readonly<Record<string, string>> = {
  'rpc, held to an agent': 'Forbidden: this token is restricted to certain agents, and events cover the whole tenant',
  'rpc, held to its own sessions': 'Forbidden: this token is restricted to its own sessions, and events cover the whole tenant',
};
type Holder = TokenScope | keyof typeof HELD_BACK;
const HOLDERS = [...Object.keys(OPENS), ...Object.keys(HELD_BACK)] as Holder[];
const STRANGERS = ['no token', 'an unknown token', 'a revoked token', 'a rotated token', 'an expired token'] as const;
type Stranger = (typeof STRANGERS)[number];
type Who = Holder | Stranger;

/** A param that no method has. A call that passes the gateway is rejected by its service and has no effect. */
const PARAMS = { 'no such param': true };
const PRIVATE = [...callables.values()].filter(({ kind }) => kind === 'operation').map(({ name }) => name);
const UNKNOWN = [...PRIVATE, 'nobody.home', 'foobar', 'context.inspect', 'context.searchByConversation', '__proto__'];

/** The bundled dashboard is served if it was built. */
const DASHBOARD = existsSync(new URL('../../services/dashboard/dist/index.html', import.meta.url)) ? 200 : 404;

/** Every route other than JSON-RPC: request, allowed tokens, and their response. The bodies are invalid, so that no turn runs. */
const ROUTES: readonly Route[] = [
  { path: '/api/chat/history', scopes: ['rpc'], opened: 200 },
  { path: '/api/chat', body: '{}', scopes: ['rpc'], opened: 400 },
  { path: '/api/chat/stream', scopes: ['rpc'], opened: 400 },
  { path: '/api/memory/search', scopes: ['rpc'], opened: 400 },
  { path: '/api/memory/stats', scopes: ['rpc'], opened: 200 },
  { path: '/api/agents', scopes: ['rpc'], opened: 200 },
  { path: '/api/channels', scopes: ['rpc'], opened: 503 },
  { path: '/api/activity', scopes: ['rpc'], opened: 200, tellsAll: true },
  { path: '/api/events', scopes: ['rpc'], opened: 200, streams: true, tellsAll: true },
  { path: '/api/tickets', verb: 'POST', scopes: 'any token', opened: 201 },
  { path: '/api/audit', scopes: ['admin'], opened: 200 },
  { path: '/v1/models', scopes: ['rpc', 'api'], opened: 200 },
  { path: '/v1/models/dev%2Fecho', scopes: ['rpc', 'api'], opened: 200 },
  { path: '/v1/chat/completions', body: '{}', scopes: ['rpc', 'api'], opened: 400 },
  { path: '/v1/embeddings', body: '{}', scopes: ['rpc', 'api'], opened: 400 },
  { path: '/v1/responses', body: '{}', scopes: ['rpc', 'api'], opened: 400 },
  { path: '/v1/responses/resp_0', scopes: ['rpc', 'api'], opened: 404 },
  { path: '/v1/responses/resp_0', verb: 'DELETE', scopes: ['rpc', 'api'], opened: 404 },
  { path: '/v1/responses/resp_0/input_items', scopes: ['rpc', 'api'], opened: 404 },
  { path: '/v1/responses/resp_0/cancel', verb: 'POST', scopes: ['rpc', 'api'], opened: 404 },
  { path: '/mcp', body: '{}', scopes: ['mcp-client'], opened: 400 },
  { path: '/mcp', scopes: ['mcp-client'], opened: 405 },
  { path: '/mcp', verb: 'DELETE', scopes: ['mcp-client'], opened: 405 },
  { path: '/openrpc.json', scopes: 'any token', opened: 200 },
  { path: '/openapi.json', scopes: 'any token', opened: 200 },
  { path: '/llms.txt', scopes: 'any token', opened: 200 },
  { path: '/media/nothing', scopes: ['rpc'], opened: 404 },
  { path: '/media/nothing/meta', scopes: ['rpc'], opened: 404 },
  { path: '/hooks/webhook', body: '{}', scopes: 'anybody', opened: 404 },
  { path: '/hooks/any', body: '{}', scopes: 'anybody', opened: 404 },
  { path: '/health', scopes: 'anybody', opened: 200 },
  { path: '/api/health', scopes: 'anybody', opened: 200 },
  { path: '/', scopes: 'anybody', opened: DASHBOARD },
  { path: '/app/index.html', scopes: 'anybody', opened: DASHBOARD },
  { path: '/api/sign-in', body: '{}', scopes: 'anybody', opened: 400 },
  { path: '/livez', scopes: 'anybody', opened: 200 },
  { path: '/startupz', scopes: 'anybody', opened: 200 },
  { path: '/readyz', scopes: 'anybody', opened: 200 },
];

interface Route {
  path: string;
  /** Default: GET, or POST if there is a body. */
  verb?: 'DELETE' | 'POST';
  body?: string;
  scopes: readonly TokenScope[] | 'any token' | 'anybody';
  opened: number;
  /** The response is an endless stream. */
  streams?: true;
  /** Covers all sessions and agents of the tenant: restricted tokens are rejected. */
  tellsAll?: true;
}

/** The routes of JSON-RPC, which are tested per method. */
const METHODS_ROUTE = 'POST /rpc';

onEachProfile('authorization', (product) => {
  const secrets = new Map<Who, Promise<string>>();
  const getSecret = (who: Who): Promise<string> => {
    const secret = secrets.get(who) ?? makeSecret(product, who);
    secrets.set(who, secret);
    return secret;
  };

  for (const transport of TRANSPORTS) {
    for (const held of HOLDERS) {
      test(`every method with a token for ${held}, over ${transport}`, async () => {
        const names = [...publicMethods.keys(), ...UNKNOWN, DISCOVER];
        const calls = names.map((method) => ({ method, params: PARAMS }));
        const answers = await callAll({ product, transport, token: await getSecret(held) }, calls);
        assert.deepEqual(
          names.map((name, at) => [name, getOutcome(answers[at])]),
          names.map((name) => [name, expected(name, held)]),
        );
      });
    }
  }

  for (const stranger of STRANGERS) {
    test(`${stranger} opens neither transport`, async () => {
      const token = await getSecret(stranger);
      const body = `[${[...publicMethods.keys(), 'nobody.home']
        .slice(0, 50)
        .map((name) => request(name))
        .join(',')}]`;
      const response = await fetch(`${product.url}/rpc`, {
        method: 'POST',
        headers: { ...bearer(token), 'content-type': 'application/json' },
        body,
      });
      const { error, id } = (await response.json()) as Answer;
      assert.deepEqual([response.status, error?.code, error?.message, id], [401, -32603, 'Unauthorized', null]);
      await using socket = await openSocket(product, token);
      assert.deepEqual(await socket.closed, { code: 4001, reason: 'Unauthorized' });
    });
  }

  for (const route of ROUTES) {
    test(`${route.verb ?? ''} ${route.path} for every kind of token`.trimStart(), async () => {
      for (const held of HOLDERS) {
        const { status, body } = await visit(product, route, await getSecret(held));
        if (route.tellsAll && held in TOLD_SOME) assert.deepEqual([status, body], [403, refusal(route, TOLD_SOME[held] ?? '', '')], held);
        else if (opens(route, held)) assert.equal(status, route.opened, `${held}: ${body}`);
        else assert.deepEqual([status, body], [403, refusal(route, 'Forbidden: insufficient scope', 'permission_error')], held);
      }
      for (const stranger of STRANGERS) {
        const { status, body } = await visit(product, route, await getSecret(stranger));
        if (route.scopes === 'anybody') assert.equal(status, route.opened, `${stranger}: ${body}`);
        else assert.deepEqual([status, body], [401, refusal(route, 'Unauthorized', 'authentication_error')], stranger);
      }
    });
  }

  test('the table covers every route', async () => {
    const { paths } = (await (await fetch(`${product.url}/openapi.json`, { headers: bearer(product.token) })).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const written = Object.entries(paths).flatMap(([path, verbs]) => Object.keys(verbs).map((verb) => [verb.toUpperCase(), path] as const));
    const requests = ROUTES.map(({ path, verb, body }) => `${verb ?? (body === undefined ? 'GET' : 'POST')} ${path}`);
    const missing = written.filter(([verb, path]) => {
      const form = new RegExp(`^${verb} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      return !requests.some((one) => form.test(one)) && `${verb} ${path}` !== METHODS_ROUTE;
    });
    assert.deepEqual(missing, []);
  });

  test('a token or ticket in the query is accepted for streams, media and the WebSocket only', async () => {
    const query = `?token=${product.token}`;
    for (const { path, scopes, opened, verb, body, streams } of ROUTES) {
      if (scopes === 'anybody') continue;
      const open = path === '/api/chat/stream' || path === '/api/events' || path.startsWith('/media/');
      for (const proof of ['token', 'ticket']) {
        const secret = proof === 'token' ? product.token : await ticket(product);
        const route: Route = {
          path: `${path}?${proof}=${secret}`,
          scopes,
          opened,
          ...(verb && { verb }),
          ...(body && { body }),
          ...(streams && { streams }),
        };
        assert.equal((await visit(product, route, '')).status, open ? opened : 401, `${path} with a ${proof}`);
      }
    }
    for (const proof of [query, `?ticket=${await ticket(product)}`]) {
      await using socket = await openSocket(product, '', proof);
      socket.send(request('system.ping'));
      assert.match(await socket.next(), /"pong":true/);
    }
  });
});

async function ticket({ url, token }: Running): Promise<string> {
  const response = await fetch(`${url}/api/tickets`, { method: 'POST', headers: bearer(token) });
  return ((await response.json()) as { ticket: string }).ticket;
}

type Outcome = 'passes' | 'no such method' | `refused: ${MethodScope}` | { unexpected: unknown };

/** The gateway checks existence before scope, and scope before params. */
function expected(name: string, held: Holder): Outcome {
  if (name === DISCOVER) return 'passes';
  const scope = publicMethods.get(name)?.scope;
  if (scope === undefined) return 'no such method';
  return OPENS[getScope(held)].includes(scope) ? 'passes' : `refused: ${scope}`;
}

function getScope(held: Holder): TokenScope {
  return held in HELD_BACK ? HELD_BACK[held as keyof typeof HELD_BACK].scopes[0] : (held as TokenScope);
}

function getOutcome(answer: Answer | undefined): Outcome {
  const { code, message, data } = answer?.error ?? {};
  if (code === -32601 && message === 'Method not found') return 'no such method';
  if (code === -32602) return 'passes';
  if (code === -32603 && data?.['code'] === 'UNAVAILABLE') return 'passes';
  for (const scope of ['rpc', 'admin'] as const) {
    if (code === -32603 && message === `Insufficient scope: requires '${scope}'`) return `refused: ${scope}`;
  }
  return { unexpected: answer };
}

function opens({ scopes }: Route, held: Holder): boolean {
  const scope = getScope(held);
  return typeof scopes === 'string' || scope === '*' || scopes.includes(scope);
}

function refusal({ path }: Route, message: string, type: string): string {
  return JSON.stringify({ error: path.startsWith('/v1/') ? { message, type, param: null, code: null } : message });
}

async function visit({ url }: Running, { path, verb, body, streams }: Route, secret: string): Promise<{ status: number; body: string }> {
  const post = body === undefined ? { method: verb ?? 'GET' } : { method: 'POST', body };
  const response = await fetch(url + path, {
    headers: { ...bearer(secret), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...post,
  });
  if (streams && response.ok) {
    await response.body?.cancel();
    return { status: response.status, body: '' };
  }
  const text = await response.text();
  return { status: response.status, body: response.ok ? text : errorAlone(text) };
}

/** The error without the problem details of REST. */
function errorAlone(text: string): string {
  return JSON.stringify({ error: (JSON.parse(text) as { error: unknown }).error });
}

function bearer(secret: string): Record<string, string> {
  return secret === '' ? {} : { authorization: `Bearer ${secret}` };
}

let held = 0;

function minted(product: Running, who: Who): Promise<{ id: string; secret: string }> {
  if (who in OPENS) return mint(product, who);
  const more = who in HELD_BACK ? HELD_BACK[who as keyof typeof HELD_BACK] : { scopes: ['rpc'] };
  const ends = who === 'an expired token' ? { ttlMs: 1 } : {};
  return call(product, 'tokens.create', { id: `held-${++held}`, ...more, ...ends });
}

async function makeSecret(product: Running, who: Who): Promise<string> {
  if (who === 'no token') return '';
  const { id, secret } = await minted(product, who);
  if (who === 'an unknown token') return `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`;
  if (who === 'a revoked token') await call(product, 'tokens.revoke', { id });
  if (who === 'a rotated token') await call(product, 'tokens.rotate', { id });
  return secret;
}
