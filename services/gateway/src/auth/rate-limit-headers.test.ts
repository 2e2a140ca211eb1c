import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';
import { createRateLimiter } from './rate-limits.ts';
import { createRateLimitHeaders } from './rate-limit-headers.ts';

const readHeaders = ({ headers }: Response) => ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}-requests`));
const rateLimit = { maxRequests: 3, windowMs: 60_000 };

test('the reset time is the time until the whole window is free', () => {
  let now = 0;
  const limiter = createRateLimiter({ now: () => now });
  const rate = { max: 5, windowMs: 90_000 };
  const values = () => createRateLimitHeaders(limiter, 'a', rate).filter((_, index) => index % 2 === 1);
  assert.deepEqual(values(), ['5', '5', '0s']);
  limiter.take('a', rate);
  assert.deepEqual(values(), ['5', '4', '1m30s']);
  now = 60_000;
  limiter.take('a', rate);
  now = 89_999;
  assert.deepEqual(values(), ['5', '3', '1m1s']);
  now = 149_500;
  assert.deepEqual(values(), ['5', '4', '1s']);
  now = 150_000;
  assert.deepEqual(values(), ['5', '5', '0s']);
});

test('every /v1 response has the x-ratelimit headers, on pre-Fastify routes and on Fastify routes', async () => {
  await using gateway = await startTestGateway({ settings: { rateLimit } });
  const options = { token: SECRETS.rpc };
  const answers = [
    await gateway.post('/v1/chat/completions', '{}', options),
    await gateway.post('/v1/responses', '{}', options),
    await gateway.post('/v1/chat/completions', JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'Hi' }] }), options),
  ];
  assert.deepEqual(
    answers.map((answer) => [answer.status, ...readHeaders(answer)]),
    [
      [400, '3', '2', '1m0s'],
      [400, '3', '1', '1m0s'],
      [503, '3', '0', '1m0s'],
    ],
  );
});

test('a 429 has the retry headers of all client conventions', async () => {
  await using gateway = await startTestGateway({ settings: { rateLimit: { ...rateLimit, maxRequests: 1 } } });
  await gateway.post('/v1/responses', '{}', { token: SECRETS.rpc });
  for (const path of ['/v1/responses', '/v1/chat/completions']) {
    const refused = await gateway.post(path, '{}', { token: SECRETS.rpc });
    assert.deepEqual([refused.status, ...readHeaders(refused)], [429, '1', '0', '1m0s'], path);
    assert.match(refused.headers.get('ratelimit') ?? '', /^"default";r=0;t=(59|60)$/);
    assert.equal(refused.headers.get('ratelimit-policy'), '"default";q=1;w=60');
    assert.match(refused.headers.get('retry-after') ?? '', /^(59|60)$/);
    assert.ok(Number(refused.headers.get('retry-after-ms')) > 58_000);
  }
});

test('successful responses and streams have the headers, and other routes do not', async () => {
  await using gateway = await startTestGateway({
    settings: { rateLimit },
    handlers: {
      'turns.complete': () => ({ response: 'Hi', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' }),
      // eslint-disable-next-line require-yield
      async *'turns.run'() {
        return { response: 'Hi', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' };
      },
    },
  });
  const body = { model: 'x', messages: [{ role: 'user', content: 'Hi' }] };
  const token = SECRETS.rpc;
  const completion = await gateway.post('/v1/chat/completions', JSON.stringify(body), { token });
  const stream = await gateway.post('/v1/chat/completions', JSON.stringify({ ...body, stream: true }), { token });
  const events = await gateway.post('/v1/responses', JSON.stringify({ model: 'x', input: 'Hi', stream: true, store: false }), { token });
  assert.deepEqual(
    [completion, stream, events].map((answer) => [answer.status, ...readHeaders(answer)]),
    ['2', '1', '0'].map((remaining) => [200, '3', remaining, '1m0s']),
  );
  await Promise.all([stream.text(), events.text()]);
  const other = await gateway.post('/rpc', '{"jsonrpc":"2.0","method":"system.ping","id":1}', { token: SECRETS.all });
  assert.deepEqual(readHeaders(other), [null, null, null]);
});
