import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { SECRETS } from '../gateway.fixture.ts';
import { RESULT, startTestTurns } from '../turns/turns.fixture.ts';
import { readError } from '../problem.fixture.ts';

const token = SECRETS.rpc;

async function readResponse(response: Response): Promise<[number, unknown]> {
  return [response.status, response.status >= 400 ? await readError(response) : await response.json()];
}

test('returns the result of a turn', async () => {
  await using t = await startTestTurns((turn) => {
    turn.sendText('one ', 'two ', 'three');
    turn.done();
  });
  const response = await t.gateway.post('/api/chat', JSON.stringify({ message: 'hi', agentId: 'oslo', sessionKey: 'lobby' }), {
    token,
    headers: { 'idempotency-key': 'k1' },
  });
  assert.deepEqual(await readResponse(response), [200, RESULT]);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.equal(response.headers.get('idempotency-replayed'), null);
  const [turn] = t.started;
  assert.deepEqual(turn?.params, { turnId: turn?.id, message: 'hi', agentId: 'oslo', session: 'lobby', idempotencyKey: 'k1' });
  assert.equal(turn.principal.client, 'rpc');
});

test('returns the result of the turn of a repeated key', async () => {
  await using t = await startTestTurns((turn) => turn.done());
  const send = () => t.gateway.post('/api/chat', '{"message":"hi"}', { token, headers: { 'idempotency-key': 'k1' } });
  await send();
  const repeated = await send();
  assert.equal(repeated.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(await readResponse(repeated), [200, RESULT]);
  assert.equal(t.started.length, 1);
});

const MISMATCH = new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
  details: { reason: 'IDEMPOTENCY_MISMATCH', turnId: 'turn_0000000000000000000000' },
});

test('returns 422 with a problem for another request with the same key', async () => {
  await using t = await startTestTurns(undefined, { handlers: { 'turns.start': () => Promise.reject(MISMATCH) } });
  const headers = { 'idempotency-key': 'k1', 'x-request-id': 'r-1' };
  const expected = {
    error: MISMATCH.message,
    type: 'about:blank',
    title: 'Unprocessable Entity',
    status: 422,
    detail: MISMATCH.message,
    code: 'INVALID_ARGUMENT',
    reason: 'IDEMPOTENCY_MISMATCH',
    requestId: 'r-1',
  };
  assert.deepEqual(await (await t.gateway.post('/api/chat', '{"message":"hi"}', { token, headers })).json(), expected);
  assert.deepEqual(await (await t.stream('message=hi&idempotencyKey=k1', { 'x-request-id': 'r-1' })).json(), expected);
});

test('lists the invalid fields in the error', async () => {
  await using t = await startTestTurns();
  const response = await t.gateway.post('/api/chat', '{"message":"hi","agentId":5}', { token });
  const { issues } = (await response.json()) as { issues: object[] };
  assert.deepEqual(
    [response.status, issues],
    [400, [{ path: 'agentId', expected: 'string', received: 'number', message: 'agentId: expected string, got number' }]],
  );
});

test('accepts the key in the body; rejects an invalid key and two different keys', async () => {
  await using t = await startTestTurns((turn) => turn.done());
  const send = async (body: object, key?: string): Promise<unknown[]> => {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return readResponse(await t.gateway.post('/api/chat', JSON.stringify({ message: 'hi', ...body }), { token, headers }));
  };
  assert.deepEqual(await send({ idempotencyKey: 'k1' }), [200, RESULT]);
  assert.deepEqual(await send({ idempotencyKey: 'k1' }, 'k1'), [200, RESULT]);
  assert.deepEqual(
    t.started.map(({ params }) => params.idempotencyKey),
    ['k1'],
  );
  const none = [400, { error: 'Idempotency-Key: expected 1 to 256 visible ASCII characters' }];
  for (const key of ['', 'two words', 'k'.repeat(257)]) assert.deepEqual(await send({}, key), none, key);
  assert.deepEqual(await send({ idempotencyKey: 'a' }, 'b'), [
    400,
    { error: 'Idempotency-Key: the header and idempotencyKey differ; send it in one place' },
  ]);
  assert.equal(t.started.length, 1);
});

test('returns the status of the error code of a failed turn', async () => {
  const failures = [
    { failure: { code: 'UNAVAILABLE', message: 'no model' }, status: 503 },
    { failure: { code: 'DEADLINE_EXCEEDED', message: 'too long' }, status: 504 },
    { failure: { code: 'CANCELLED', message: 'cancelled' }, status: 499 },
    { failure: { code: 'INTERNAL', message: 'Internal error' }, status: 500 },
  ] as const;
  for (const { failure, status } of failures) {
    await using t = await startTestTurns((turn) => turn.fail(failure));
    assert.deepEqual(await readResponse(await t.gateway.post('/api/chat', '{"message":"hi"}', { token })), [
      status,
      { error: failure.message },
    ]);
  }
});

test('returns the error and the status of a rejected turn', async () => {
  const refusals = [
    { error: new ServiceError('INVALID_ARGUMENT', 'Unknown agent: mars'), status: 400 },
    {
      error: new ServiceError('FAILED_PRECONDITION', 'The agent oslo is suspended.', { details: { reason: 'AGENT_SUSPENDED' } }),
      status: 409,
    },
    { error: new ServiceError('FAILED_PRECONDITION', 'No model is configured.'), status: 400 },
    { error: new ServiceError('NOT_FOUND', 'no such session'), status: 404 },
    { error: new ServiceError('RESOURCE_EXHAUSTED', 'full', { details: { retryAfterMs: 1_500 } }), status: 429, retryAfter: '2' },
  ];
  for (const { error, status, retryAfter = null } of refusals) {
    await using t = await startTestTurns(undefined, { handlers: { 'turns.start': () => Promise.reject(error) } });
    const response = await t.gateway.post('/api/chat', '{"message":"hi"}', { token });
    assert.equal(response.headers.get('retry-after'), retryAfter);
    assert.deepEqual(await readResponse(response), [status, { error: error.message }]);
  }
});

test('names the mistake in an invalid request', async () => {
  await using t = await startTestTurns();
  const missing = 'Missing required field: message (string)';
  const bodies: [string, string][] = [
    ['{', 'Invalid JSON body'],
    ['', 'Invalid JSON body'],
    ['null', missing],
    ['[]', missing],
    ['{}', missing],
    ['{"message":5}', missing],
    ['{"message":""}', missing],
    ['{"message":"hi","agentId":"Not An Id"}', 'Unknown agent: Not An Id'],
    ['{"message":"hi","agentId":7}', 'Invalid params: agentId: expected string, got number'],
    ['{"message":"hi","temper":1}', 'Invalid params: temper: expected no such parameter, got an unknown name'],
    ['{"message":"hi","__proto__":{}}', 'Invalid params: __proto__: expected no such parameter, got an unknown name'],
  ];
  for (const [body, error] of bodies) {
    assert.deepEqual(await readResponse(await t.gateway.post('/api/chat', body, { token })), [400, { error }], body);
  }
  assert.equal(t.started.length, 0);
});

test('returns an HTTP status for unauthorized and malformed requests', async () => {
  await using t = await startTestTurns();
  const send = (options: Parameters<typeof t.gateway.post>[2], body = '{"message":"hi"}') => t.gateway.post('/api/chat', body, options);
  assert.deepEqual(await readResponse(await send({})), [401, { error: 'Unauthorized' }]);
  assert.deepEqual(await readResponse(await send({ token: SECRETS.mcp })), [403, { error: 'Forbidden: insufficient scope' }]);
  assert.deepEqual(await readResponse(await send({ token: SECRETS.admin })), [403, { error: 'Forbidden: insufficient scope' }]);
  assert.deepEqual(await readResponse(await send({ token, headers: { 'content-type': 'text/plain' } })), [
    415,
    { error: 'Content-Type must be application/json' },
  ]);
  const large = JSON.stringify({ message: 'x'.repeat(2_000_000) });
  assert.deepEqual(await readResponse(await send({ token }, large)), [413, { error: 'Request body too large' }]);
});

test('continues the turn when the client disconnects', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const disconnect = new AbortController();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k1' };
  const request = { method: 'POST', headers, body: '{"message":"hi"}' };
  const aborted = assert.rejects(fetch(`${t.gateway.url}/api/chat`, { ...request, signal: disconnect.signal }));
  const turn = await started;
  disconnect.abort();
  await aborted;
  turn.sendText('one');
  turn.done();
  assert.deepEqual(await readResponse(await fetch(`${t.gateway.url}/api/chat`, request)), [200, RESULT]);
});

test('marks an abandoned turn as retryable only with a key', async () => {
  for (const [headers, expected] of [
    [{}, 'false'],
    [{ 'idempotency-key': 'k1' }, null],
  ] as const) {
    await using t = await startTestTurns();
    const started = t.next();
    const pendingResponse = t.gateway.post('/api/chat', '{"message":"hi"}', { token, headers });
    await started;
    const closing = t.gateway.gateway.close({ finishMs: 20 });
    const response = await pendingResponse;
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('x-should-retry'), expected);
    await closing;
  }
});

test('returns the history of a channel, by default gateway', async () => {
  const received: unknown[] = [];
  const messages = [{ role: 'user', content: 'hi', timestamp: 1 }];
  await using t = await startTestTurns(undefined, {
    handlers: {
      'session.history': (params) => {
        received.push(params);
        return params.cursor === undefined ? { messages } : { messages, cursor: 'e.5' };
      },
    },
  });
  const read = (path: string) => fetch(t.gateway.url + path, { headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual(await readResponse(await read('/api/chat/history')), [200, { messages }]);
  assert.deepEqual(await readResponse(await read('/api/chat/history?channelId=lobby')), [200, { messages }]);
  assert.deepEqual(await readResponse(await read('/api/chat/history?limit=20&cursor=e.7')), [200, { messages, cursor: 'e.5' }]);
  assert.deepEqual(received, [{ channelId: 'gateway' }, { channelId: 'lobby' }, { channelId: 'gateway', limit: 20, cursor: 'e.7' }]);
  for (const limit of ['0', 'many', '1.5']) assert.equal((await read(`/api/chat/history?limit=${limit}`)).status, 400, limit);
  assert.equal((await read('/api/chat/history?channelId=a&channelId=b')).status, 400);
  assert.equal((await fetch(`${t.gateway.url}/api/chat/history`)).status, 401);
});

test('has no /api routes when gateway.web is disabled', async () => {
  await using t = await startTestTurns(undefined, { settings: { web: { enabled: false } } });
  assert.deepEqual(await readResponse(await t.gateway.post('/api/chat', '{"message":"hi"}', { token })), [404, { error: 'Not Found' }]);
  assert.equal((await t.stream('message=hi')).status, 404);
  assert.equal((await fetch(`${t.gateway.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  t.gateway.settings.set({ web: { enabled: true } });
  assert.equal((await t.stream('message=hi')).status, 200, 'it is in force at once');
  t.gateway.settings.set({ web: { enabled: false } });
  assert.equal((await t.stream('message=hi')).status, 404);
});
