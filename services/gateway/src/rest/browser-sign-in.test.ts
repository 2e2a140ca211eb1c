import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secrets } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

interface Params {
  id: string;
  scopes: string[];
  ttlMs?: number | undefined;
}

/** A gateway with a service that creates tokens and records the requests. */
async function start() {
  const gateway = await startTestGateway();
  const created: Params[] = [];
  const handlers = {
    'tokens.create': (params: Params) => {
      created.push(params);
      return { id: params.id, secret: 's'.repeat(43), scopes: params.scopes as ['*'], expiresAt: '2030-01-01T00:00:00.000Z' };
    },
  };
  await gateway.bus.serve(secrets, handlers, { version: '0.0.0' });
  return { gateway, created, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

async function issueTicket({ url }: TestGateway, token: string, origin?: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, ...(origin === undefined ? {} : { origin }) };
  return ((await (await fetch(`${url}/api/tickets`, { method: 'POST', headers })).json()) as { ticket: string }).ticket;
}

function signIn({ url }: TestGateway, body: string): Promise<Response> {
  return fetch(`${url}/api/sign-in`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
}

test('exchanges a ticket once for a token that expires', async () => {
  await using t = await start();
  const ticket = await issueTicket(t.gateway, SECRETS.all);
  const response = await signIn(t.gateway, JSON.stringify({ ticket }));
  assert.deepEqual([response.status, response.headers.get('cache-control')], [201, 'no-store']);
  const body = (await response.json()) as { id: string; token: string };
  assert.match(body.id, /^browser_/);
  assert.equal(body.token, 's'.repeat(43));
  assert.deepEqual(
    t.created.map(({ scopes, ttlMs }) => [scopes, ttlMs]),
    [[['*'], 43_200_000]],
  );
  assert.equal((await signIn(t.gateway, JSON.stringify({ ticket }))).status, 401);
  assert.equal(t.created.length, 1);
});

test('refuses a ticket of a token without scope admin, other text and large bodies', async () => {
  await using t = await start();
  assert.equal((await signIn(t.gateway, JSON.stringify({ ticket: await issueTicket(t.gateway, SECRETS.rpc) }))).status, 403);
  assert.equal((await signIn(t.gateway, JSON.stringify({ ticket: SECRETS.all }))).status, 401);
  for (const body of ['', '[]', '{"ticket":1}', `{"ticket":"a","more":1}`]) assert.equal((await signIn(t.gateway, body)).status, 400, body);
  assert.equal((await signIn(t.gateway, JSON.stringify({ ticket: 'x'.repeat(2_000) }))).status, 413);
  assert.deepEqual(t.created, []);
});
