import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { SECRETS, startTestGateway, type Answer, type TestGateway } from '../gateway.fixture.ts';
import { readError } from '../problem.fixture.ts';

const PING = '{"jsonrpc":"2.0","method":"system.ping","id":1}';

/** `fetch` sets Host and Origin itself. */
async function sendRaw(
  gateway: TestGateway,
  path: string,
  options: { method?: string; headers?: Record<string, string> },
): Promise<IncomingMessage> {
  const request = httpRequest(gateway.url + path, options);
  request.end(options.method === 'POST' ? PING : undefined);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return response;
}

const post = (gateway: TestGateway, headers: Record<string, string>): Promise<IncomingMessage> =>
  sendRaw(gateway, '/rpc', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRETS.all}`, ...headers },
  });

test('returns 503 instead of 401 while tokens cannot be verified', async (t) => {
  await using gateway = await startTestGateway();
  const socket = await gateway.connect();
  await gateway.loseBus();
  const createPing = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'system.ping', id });
  assert.deepEqual((await socket.request(createPing(0))).error, undefined, 'requests are accepted for five seconds');

  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 5_001 });
  const response = await gateway.post('/rpc', PING, { token: SECRETS.all });
  const { error } = (await response.json()) as Answer;
  assert.deepEqual(
    [response.status, response.headers.get('retry-after'), error?.code, error?.data?.['code']],
    [503, '1', -32603, 'UNAVAILABLE'],
  );
  assert.equal((await gateway.post('/v1/chat/completions', '{}', { token: SECRETS.all })).status, 503);
  assert.equal((await gateway.post('/rpc', PING)).status, 401, 'a request without a token is 401');

  const single = await socket.request(createPing(7));
  assert.deepEqual([single.id, single.error?.code, single.error?.data?.['retryable']], [7, -32603, true]);
  const batch = (await socket.request(`[${createPing('a')},{"jsonrpc":"2.0","method":"system.ping"},1]`)) as unknown as Answer[];
  assert.deepEqual(
    batch.map(({ id, error: rpcError }) => [id, rpcError?.code]),
    [
      ['a', -32603],
      [null, -32600],
    ],
  );
  const { status } = (await (await fetch(`${gateway.url}/readyz`)).json()) as { status: string };
  assert.equal(status, 'unavailable');
});

describe('browser requests', () => {
  test('are refused from an origin that is not allowed', async () => {
    await using gateway = await startTestGateway({ settings: { corsOrigins: ['https://app.example'] } });
    const { host } = new URL(gateway.url);
    assert.equal((await post(gateway, { origin: 'https://evil.example' })).statusCode, 403);
    assert.equal((await post(gateway, { origin: 'null' })).statusCode, 403);
    assert.equal((await post(gateway, { origin: `http://${host}` })).statusCode, 200);
    assert.equal((await post(gateway, { origin: 'https://app.example' })).statusCode, 200);
    gateway.settings.set({ corsOrigins: [] });
    assert.equal((await post(gateway, { origin: 'https://app.example' })).statusCode, 403);
  });

  test('are refused with a foreign Host header while the gateway listens on loopback', async () => {
    await using gateway = await startTestGateway();
    assert.equal((await post(gateway, { host: 'evil.example' })).statusCode, 403);
    assert.equal((await post(gateway, { host: '127.0.0.1.evil.example' })).statusCode, 403);
    assert.equal((await post(gateway, { host: 'localhost:1' })).statusCode, 200);
  });

  const PATHS = ['/rpc', '/v1/models', '/openai/v1/chat/completions', '/api/agents', '/api/health', '/media/0', '/mcp'];

  test('get a CORS preflight for every route from a listed origin only', async () => {
    await using gateway = await startTestGateway({ settings: { corsOrigins: ['https://app.example'] } });
    const preflight = (path: string, origin: string): Promise<IncomingMessage> =>
      sendRaw(gateway, path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,x-stainless-lang, x-stainless-retry-count,bad name',
        },
      });
    for (const path of PATHS) {
      const { statusCode, headers } = await preflight(path, 'https://app.example');
      assert.deepEqual([path, statusCode, headers['access-control-allow-origin']], [path, 204, 'https://app.example']);
      assert.equal(headers['access-control-allow-methods'], 'GET, POST, OPTIONS');
      assert.equal(
        headers['access-control-allow-headers'],
        'Authorization, Content-Type, Last-Event-ID, Idempotency-Key, X-Request-Id, x-stainless-lang, x-stainless-retry-count',
      );
      assert.equal(headers['access-control-max-age'], '3600');
      const foreign = await preflight(path, 'https://evil.example');
      assert.deepEqual([foreign.statusCode, foreign.headers['access-control-allow-origin']], [403, undefined]);
    }
    const plain = await sendRaw(gateway, '/rpc', { method: 'OPTIONS', headers: {} });
    assert.equal(plain.statusCode, 404);
  });

  test('may delete a response from a listed origin, by both paths', async () => {
    await using gateway = await startTestGateway({ settings: { corsOrigins: ['https://app.example'] } });
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'DELETE' };
    for (const path of ['/v1/responses/resp_1', '/openai/v1/responses/resp_1']) {
      const { statusCode, headers: answer } = await sendRaw(gateway, path, { method: 'OPTIONS', headers });
      assert.deepEqual([statusCode, answer['access-control-allow-methods']], [204, 'DELETE, GET, POST, OPTIONS'], path);
    }
  });

  test('may read the headers that the SDKs read', async () => {
    await using gateway = await startTestGateway({ settings: { corsOrigins: ['https://app.example'] } });
    const { headers } = await sendRaw(gateway, '/v1/models', { method: 'GET', headers: { origin: 'https://app.example' } });
    const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(', ');
    const sdkHeaders = ['x-request-id', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-ratelimit-remaining-requests'];
    assert.deepEqual(
      sdkHeaders.filter((name) => !exposed.includes(name)),
      [],
    );
  });

  test('may read the response of every route from a listed origin', async () => {
    await using gateway = await startTestGateway({ settings: { corsOrigins: ['https://app.example'] } });
    const origin = 'https://app.example';
    for (const path of PATHS) {
      for (const headers of [{ origin }, { origin, authorization: `Bearer ${SECRETS.all}` }]) {
        const response = await sendRaw(gateway, path, { method: 'GET', headers });
        assert.deepEqual([path, response.headers['access-control-allow-origin'], response.headers.vary], [path, origin, 'Origin']);
      }
    }
    const call = await post(gateway, { origin });
    assert.deepEqual([call.statusCode, call.headers['access-control-allow-origin']], [200, origin]);
    const foreign = await post(gateway, { origin: 'https://evil.example' });
    assert.deepEqual([foreign.statusCode, foreign.headers['access-control-allow-origin']], [403, undefined]);
  });
});

describe('the HTTP rate limit', () => {
  test('counts the calls of a batch', async () => {
    await using gateway = await startTestGateway({ settings: { rateLimit: { maxRequests: 4, windowMs: 60_000 } } });
    const batch = (calls: number): string =>
      JSON.stringify(Array.from({ length: calls }, (_, id) => ({ jsonrpc: '2.0', method: 'system.ping', id })));
    const tooLarge = await gateway.post('/rpc', batch(5), { token: SECRETS.all });
    const { error } = (await tooLarge.json()) as Answer;
    assert.deepEqual([tooLarge.status, tooLarge.headers.get('retry-after'), error?.code], [429, null, -32000]);
    assert.equal(error?.data?.['retryable'], false, 'a batch above the rate is never allowed');
    assert.equal((await gateway.post('/rpc', batch(3), { token: SECRETS.all })).status, 200);
    const other = await gateway.post('/rpc', batch(2), { token: SECRETS.rpc });
    assert.equal(other.status, 200, 'another client has its own window');
    const refused = await gateway.post('/rpc', batch(1), { token: SECRETS.all });
    assert.deepEqual([refused.status, Number(refused.headers.get('retry-after')) > 0], [429, true]);
  });

  test('applies per client, returns the time to wait, and counts a batch as its calls', async () => {
    await using gateway = await startTestGateway({ settings: { rateLimit: { maxRequests: 2, windowMs: 60_000 } } });
    const send = (token: string, body = PING): Promise<Response> => gateway.post('/rpc', body, { token });
    assert.equal((await send(SECRETS.rpc, `[${PING},${PING}]`)).status, 200);
    const limited = await send(SECRETS.rpc);
    const { id, error } = (await limited.json()) as Answer;
    assert.equal(limited.status, 429);
    assert.deepEqual([id, error?.code, error?.message], [null, -32000, 'Rate limit exceeded']);
    const retryAfterMs = Number(error?.data?.['retryAfterMs']);
    assert.ok(retryAfterMs > 55_000 && retryAfterMs <= 60_000);
    assert.equal(limited.headers.get('retry-after'), String(Math.ceil(retryAfterMs / 1_000)));
    assert.equal(limited.headers.get('ratelimit-policy'), '"default";q=2;w=60');
    assert.match(limited.headers.get('ratelimit') ?? '', /^"default";r=0;t=\d+$/);
    assert.equal((await send(SECRETS.all)).status, 200, 'another client');
    gateway.settings.set({ rateLimit: { maxRequests: 3, windowMs: 60_000 } });
    assert.equal((await send(SECRETS.rpc)).status, 200, 'a raised limit applies at once');
  });

  test('is reported in the format of the route', async () => {
    await using gateway = await startTestGateway({ settings: { rateLimit: { maxRequests: 1, windowMs: 60_000 } } });
    const get = (path: string): Promise<Response> => fetch(gateway.url + path);
    assert.deepEqual(await readError(await get('/nothing/here')), { error: 'Not Found' });
    const rest = await get('/nothing/here');
    assert.deepEqual([rest.status, await readError(rest)], [429, { error: 'Rate limit exceeded' }]);
    const v1 = await get('/v1/nothing');
    assert.equal(v1.status, 429);
    assert.deepEqual(await v1.json(), { error: { message: 'Rate limit exceeded', type: 'rate_limit_error', param: null, code: null } });
    for (const path of ['/health', '/api/health', '/livez', '/readyz', '/startupz']) assert.equal((await get(path)).status, 200, path);
  });

  test('limits failed authentications per address and still accepts a valid token', async () => {
    await using gateway = await startTestGateway({ settings: { authFailures: { maxFailures: 3, windowMs: 60_000 } } });
    const status = async (token: string): Promise<number> => (await gateway.post('/rpc', PING, { token })).status;
    assert.deepEqual([await status('wrong'), await status('wrong'), await status('wrong'), await status('wrong')], [401, 401, 401, 429]);
    assert.equal(await status(SECRETS.rpc), 200);
    assert.equal(await status('wrong'), 429);
  });

  test('counts by the client address behind a trusted proxy', async () => {
    await using gateway = await startTestGateway({
      settings: { authFailures: { maxFailures: 1, windowMs: 60_000 }, trustedProxies: ['127.0.0.1'] },
    });
    const status = async (client: string): Promise<number> =>
      (await gateway.post('/rpc', PING, { token: 'wrong', headers: { 'x-forwarded-for': client } })).status;
    assert.deepEqual([await status('203.0.113.1'), await status('203.0.113.2'), await status('203.0.113.1')], [401, 401, 429]);
  });
});

describe('a token', () => {
  test('is refused at the next request after it was revoked or rotated', async () => {
    await using gateway = await startTestGateway();
    const secret = 'a-secret-that-will-not-live-very-long';
    const status = async (token: string): Promise<number> => (await gateway.post('/rpc', PING, { token })).status;
    await gateway.putToken({ id: 'short', secret });
    assert.equal(await status(secret), 200);
    await gateway.putToken({ id: 'short', secret: `${secret}-2`, ver: 2 });
    assert.deepEqual([await status(secret), await status(`${secret}-2`)], [401, 200]);
    await gateway.removeToken('short');
    assert.equal(await status(`${secret}-2`), 401);
  });
});
