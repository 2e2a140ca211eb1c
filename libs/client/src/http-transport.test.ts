import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, FAST, PONG, startServer, type Call } from './client.fixture.ts';
import { createClient } from './client.ts';
import { RpcError } from './rpc-error.ts';

test('call sends one JSON-RPC request with the token and returns its result', async () => {
  const seen: unknown[] = [];
  await using server = await startServer({
    http(request, response, body) {
      seen.push(request.method, request.url, request.headers.authorization, JSON.parse(body));
      response.end(answer(JSON.parse(body) as Call, PONG));
    },
  });
  const client = createClient({ url: `${server.url}/base`, token: 'secret' });
  assert.deepEqual(await client.call('system.ping'), PONG);
  assert.deepEqual(seen, ['POST', '/base/rpc', 'Bearer secret', { jsonrpc: '2.0', id: 1, method: 'system.ping', params: {} }]);
});

test('call rejects with the code, data and retryable flag of the error', async () => {
  const data = { code: 'NOT_FOUND', reason: 'NO_TOKEN', requestId: 'req_1', retryable: false };
  await using server = await startServer({
    http: (_, response, body) => {
      const { id } = JSON.parse(body) as Call;
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'no token x', data } }));
    },
  });
  const failed = await createClient({ url: server.url })
    .call('tokens.revoke', { id: 'x' })
    .catch((error: unknown) => error);
  assert.ok(failed instanceof RpcError);
  assert.deepEqual([failed.code, failed.message, failed.data, failed.retryable], [-32603, 'no token x', data, false]);
});

test('call converts HTTP errors to typed errors', async () => {
  const cases: [number, Record<string, string>, string, string, boolean, number | undefined][] = [
    [401, {}, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Unauthorized"}}', 'UNAUTHENTICATED', false, undefined],
    [413, {}, '{"error":"Request body too large"}', 'FAILED_PRECONDITION', false, undefined],
    [
      429,
      { 'retry-after': '2' },
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Slow"}}',
      'RESOURCE_EXHAUSTED',
      true,
      2_000,
    ],
    [502, {}, '<html>bad gateway</html>', 'UNAVAILABLE', false, undefined],
    [503, {}, '<html>no server</html>', 'UNAVAILABLE', true, undefined],
    [503, { 'x-should-retry': 'false' }, '{"error":"The turn stopped sending frames."}', 'UNAVAILABLE', false, undefined],
    [200, {}, 'not json', 'INTERNAL', false, undefined],
  ];
  for (const [status, headers, body, code, retryable, retryAfterMs] of cases) {
    await using server = await startServer({ http: (_, response) => void response.writeHead(status, headers).end(body) });
    const failed = await createClient({ url: server.url })
      .call('system.ping')
      .catch((error: unknown) => error);
    assert.ok(failed instanceof RpcError, String(failed));
    assert.deepEqual([failed.data.code, failed.retryable, failed.data.retryAfterMs], [code, retryable, retryAfterMs], body);
  }
});

test('batch returns the answers in the order of the calls', async () => {
  await using server = await startServer({
    http(_, response, body) {
      const [first, second] = JSON.parse(body) as [Call, Call];
      const refused = { jsonrpc: '2.0', id: second.id, error: { code: -32602, message: 'Invalid params: id' } };
      response.end(`[${JSON.stringify(refused)},${answer(first, PONG)}]`);
    },
  });
  const client = createClient({ url: server.url });
  const [ping, revoke] = await client.batch([
    { method: 'system.ping', params: {} },
    { method: 'tokens.revoke', params: { id: '' } },
  ]);
  assert.deepEqual(ping, { ok: true, result: PONG });
  assert.equal(!revoke.ok && revoke.error.data.code, 'INVALID_ARGUMENT');
  assert.deepEqual(await client.batch([]), []);
});

test('batch assigns an error with id null to each call', async () => {
  const refusal = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Batch too large' } };
  await using server = await startServer({ http: (_, response) => void response.end(JSON.stringify(refusal)) });
  const ping = { method: 'system.ping', params: {} } as const;
  const answers = await createClient({ url: server.url }).batch([ping, ping]);
  assert.deepEqual(
    answers.map((each) => !each.ok && each.error.message),
    ['Batch too large', 'Batch too large'],
  );
});

test('notify sends no id and waits for no answer', async () => {
  let sent: unknown;
  await using server = await startServer({
    http(_, response, body) {
      sent = JSON.parse(body);
      response.writeHead(204).end();
    },
  });
  await createClient({ url: server.url }).notify('system.ping');
  assert.deepEqual(sent, { jsonrpc: '2.0', method: 'system.ping', params: {} });
});

test('call fails on a broken connection and repeats idempotent calls', async () => {
  const keys: unknown[] = [];
  await using server = await startServer({
    http(_, response, body) {
      const call = JSON.parse(body) as Call;
      keys.push(call.params['idempotencyKey']);
      if (keys.length % 3 === 0) response.end(answer(call, PONG));
      else response.destroy();
    },
  });
  const client = createClient({ url: server.url, reconnect: FAST });
  assert.deepEqual(await client.call('system.ping', {}, { idempotent: true }), PONG);
  await client.call('agent.execute', { message: 'hi' }, { idempotencyKey: 'k1' });
  assert.deepEqual(keys.slice(3), ['k1', 'k1', 'k1']);
  await assert.rejects(client.call('system.ping'), (error: RpcError) => !error.retryable && error.data.reason === 'CONNECTION_LOST');
  assert.equal(keys.length, 7);
});

test('call does not repeat a request when the response has x-should-retry: false', async () => {
  let requestCount = 0;
  await using server = await startServer({
    http(_, response) {
      requestCount++;
      const data = { code: 'UNAVAILABLE', requestId: 'req_1', retryable: false };
      response.writeHead(503).end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'gone', data } }));
    },
  });
  const client = createClient({ url: server.url, reconnect: FAST });
  await assert.rejects(client.call('system.ping', {}, { idempotent: true }), { message: 'gone' });
  assert.equal(requestCount, 1);
});

test('call rejects on timeout, abort and close', async () => {
  await using server = await startServer({ http: () => {} });
  const client = createClient({ url: server.url });
  for (const idempotent of [false, true]) {
    const createTimeoutError = client.call('system.ping', {}, { timeoutMs: 5, idempotent });
    await assert.rejects(
      createTimeoutError,
      (error: RpcError) => error.data.code === 'DEADLINE_EXCEEDED' && error.retryable === idempotent,
    );
  }

  const abort = new AbortController();
  const aborted = client.call('system.ping', {}, { signal: abort.signal });
  abort.abort(new Error('enough'));
  await assert.rejects(aborted, { message: 'enough' });
  await assert.rejects(client.call('system.ping', {}, { signal: abort.signal }), { message: 'enough' });

  const closed = client.call('system.ping');
  client.close();
  await assert.rejects(closed, (error: RpcError) => error.data.reason === 'CLIENT_CLOSED');
});
