import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { SECRETS } from '../gateway.fixture.ts';
import { RESULT, startTestTurns } from '../turns/turns.fixture.ts';
import { errorOf } from '../problem.fixture.ts';

const token = SECRETS.rpc;

async function said(response: Response): Promise<[number, unknown]> {
  return [response.status, response.status >= 400 ? await errorOf(response) : await response.json()];
}

test('a turn is answered when it is done', async () => {
  await using t = await startTestTurns((turn) => {
    turn.say('one ', 'two ', 'three');
    turn.done();
  });
  const response = await t.gateway.post('/api/chat', JSON.stringify({ message: 'hi', agentId: 'oslo', sessionKey: 'lobby' }), {
    token,
    headers: { 'idempotency-key': 'k1' },
  });
  assert.deepEqual(await said(response), [200, RESULT]);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.equal(response.headers.get('idempotency-replayed'), null);
  const [turn] = t.started;
  assert.deepEqual(turn?.asked, { turnId: turn?.id, message: 'hi', agentId: 'oslo', session: 'lobby', idempotencyKey: 'k1' });
  assert.equal(turn.principal.client, 'rpc');
});

test('the same key gets the answer of the turn it named', async () => {
  await using t = await startTestTurns((turn) => turn.done());
  const ask = () => t.gateway.post('/api/chat', '{"message":"hi"}', { token, headers: { 'idempotency-key': 'k1' } });
  await ask();
  const again = await ask();
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(await said(again), [200, RESULT]);
  assert.equal(t.started.length, 1);
});

const MISMATCH = new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
  details: { reason: 'IDEMPOTENCY_MISMATCH', turnId: 'turn_0000000000000000000000' },
});

test('another request under the same key is 422, a problem that programs can read beside the error', async () => {
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

test('the error lists the invalid fields beside the message', async () => {
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
  const ask = async (body: object, key?: string): Promise<unknown[]> => {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return said(await t.gateway.post('/api/chat', JSON.stringify({ message: 'hi', ...body }), { token, headers }));
  };
  assert.deepEqual(await ask({ idempotencyKey: 'k1' }), [200, RESULT]);
  assert.deepEqual(await ask({ idempotencyKey: 'k1' }, 'k1'), [200, RESULT]);
  assert.deepEqual(
    t.started.map(({ asked }) => asked.idempotencyKey),
    ['k1'],
  );
  const none = [400, { error: 'Idempotency-Key: expected 1 to 256 visible ASCII characters' }];
  for (const key of ['', 'two words', 'k'.repeat(257)]) assert.deepEqual(await ask({}, key), none, key);
  assert.deepEqual(await ask({ idempotencyKey: 'a' }, 'b'), [
    400,
    { error: 'Idempotency-Key: the header and idempotencyKey differ; send it in one place' },
  ]);
  assert.equal(t.started.length, 1);
});

test('a failed turn answers with the status of its code', async () => {
  const failures = [
    { failure: { code: 'UNAVAILABLE', message: 'no model' }, status: 503 },
    { failure: { code: 'DEADLINE_EXCEEDED', message: 'too long' }, status: 504 },
    { failure: { code: 'CANCELLED', message: 'cancelled' }, status: 499 },
    { failure: { code: 'INTERNAL', message: 'Internal error' }, status: 500 },
  ] as const;
  for (const { failure, status } of failures) {
    await using t = await startTestTurns((turn) => turn.fail(failure));
    assert.deepEqual(await said(await t.gateway.post('/api/chat', '{"message":"hi"}', { token })), [status, { error: failure.message }]);
  }
});

test('a turn that is refused answers {error} with the status of the route', async () => {
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
    assert.deepEqual(await said(response), [status, { error: error.message }]);
  }
});

test('a wrong request is refused with the text of its mistake', async () => {
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
    assert.deepEqual(await said(await t.gateway.post('/api/chat', body, { token })), [400, { error }], body);
  }
  assert.equal(t.started.length, 0);
});

test('malformed requests get an HTTP status', async () => {
  await using t = await startTestTurns();
  const ask = (options: Parameters<typeof t.gateway.post>[2], body = '{"message":"hi"}') => t.gateway.post('/api/chat', body, options);
  assert.deepEqual(await said(await ask({})), [401, { error: 'Unauthorized' }]);
  assert.deepEqual(await said(await ask({ token: SECRETS.mcp })), [403, { error: 'Forbidden: insufficient scope' }]);
  assert.deepEqual(await said(await ask({ token: SECRETS.admin })), [403, { error: 'Forbidden: insufficient scope' }]);
  assert.deepEqual(await said(await ask({ token, headers: { 'content-type': 'text/plain' } })), [
    415,
    { error: 'Content-Type must be application/json' },
  ]);
  const large = JSON.stringify({ message: 'x'.repeat(2_000_000) });
  assert.deepEqual(await said(await ask({ token }, large)), [413, { error: 'Request body too large' }]);
});

test('a client that leaves does not end its turn', async () => {
  await using t = await startTestTurns();
  const started = t.next();
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k1' };
  const request = { method: 'POST', headers, body: '{"message":"hi"}' };
  const left = assert.rejects(fetch(`${t.gateway.url}/api/chat`, { ...request, signal: leaving.signal }));
  const turn = await started;
  leaving.abort();
  await left;
  turn.say('one');
  turn.done();
  assert.deepEqual(await said(await fetch(`${t.gateway.url}/api/chat`, request)), [200, RESULT]);
});

test('an abandoned turn continues and can be requested again by its key only', async () => {
  for (const [headers, expected] of [
    [{}, 'false'],
    [{ 'idempotency-key': 'k1' }, null],
  ] as const) {
    await using t = await startTestTurns();
    const started = t.next();
    const asking = t.gateway.post('/api/chat', '{"message":"hi"}', { token, headers });
    await started;
    const closing = t.gateway.gateway.close({ finishMs: 20 });
    const response = await asking;
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('x-should-retry'), expected);
    await closing;
  }
});

test('history is that of the channel, and of the gateway unless one is named', async () => {
  const asked: unknown[] = [];
  const messages = [{ role: 'user', content: 'hi', timestamp: 1 }];
  await using t = await startTestTurns(undefined, {
    handlers: {
      'session.history': (params) => {
        asked.push(params);
        return { messages };
      },
    },
  });
  const read = (path: string) => fetch(t.gateway.url + path, { headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual(await said(await read('/api/chat/history')), [200, { messages }]);
  assert.deepEqual(await said(await read('/api/chat/history?channelId=lobby')), [200, { messages }]);
  assert.deepEqual(asked, [{ channelId: 'gateway' }, { channelId: 'lobby' }]);
  assert.equal((await read('/api/chat/history?channelId=a&channelId=b')).status, 400);
  assert.equal((await fetch(`${t.gateway.url}/api/chat/history`)).status, 401);
});

test('without the web there is no /api, and /v1 stays', async () => {
  await using t = await startTestTurns(undefined, { settings: { web: { enabled: false } } });
  assert.deepEqual(await said(await t.gateway.post('/api/chat', '{"message":"hi"}', { token })), [404, { error: 'Not Found' }]);
  assert.equal((await t.stream('message=hi')).status, 404);
  assert.equal((await fetch(`${t.gateway.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
});
