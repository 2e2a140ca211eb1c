import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import { SECRETS, startTestGateway, type TestGatewayOptions } from '../gateway.fixture.ts';
import { RESULT } from '../turns/turns.fixture.ts';

const BODY = { model: 'm', top_p: 0.5, messages: [{ role: 'user', content: 'hello' }] };
const HANDLERS: NonNullable<TestGatewayOptions['handlers']> = {
  'turns.complete': () => ({ ...RESULT, finishReason: 'output_starved' }),
};

test('/openai/v1 accepts unsupported fields from a strict token, and /v1 rejects them and names the path', async () => {
  await using gateway = await startTestGateway({ handlers: HANDLERS });
  const post = (path: string) => gateway.post(path, JSON.stringify(BODY), { token: SECRETS.rpc });
  const strict = await post('/v1/chat/completions');
  assert.equal(strict.status, 400);
  assert.match(await strict.text(), /Invalid request: top_p: .*Send it to \/openai\/v1 with the same token/);
  const lenient = await post('/openai/v1/chat/completions?x=1');
  const { choices } = (await lenient.json()) as { choices: { finish_reason: string }[] };
  assert.deepEqual([lenient.status, choices[0]?.finish_reason], [200, 'length']);
  assert.equal((await post('/v1/chat/completions')).status, 400, 'the next request of the connection is strict');
});

test('/openai/v1 has the scopes, rate limit headers and errors of /v1', async () => {
  await using gateway = await startTestGateway();
  const anonymous = await gateway.post('/openai/v1/chat/completions', '{}');
  const admin = await gateway.post('/openai/v1/chat/completions', '{}', { token: SECRETS.admin });
  const invalid = await gateway.post('/openai/v1/responses', '{"model":"m"}', { token: SECRETS.rpc });
  const unknown = await gateway.post('/openai/v1/unknown', '{}', { token: SECRETS.rpc });
  assert.deepEqual([anonymous.status, admin.status, invalid.status, unknown.status], [401, 403, 400, 404]);
  assert.ok(invalid.headers.get('x-ratelimit-limit-requests'));
  assert.match(await invalid.text(), /"type":"invalid_request_error"/);
  assert.equal((await gateway.post('/openai/rpc', '{}', { token: SECRETS.rpc })).status, 404);
});

test('an absolute URL of /openai/v1 is lenient', async () => {
  await using gateway = await startTestGateway({ handlers: HANDLERS });
  const { promise: status, resolve } = Promise.withResolvers<number | undefined>();
  const path = `${gateway.url}/openai/v1/chat/completions`;
  const headers = { authorization: `Bearer ${SECRETS.rpc}`, 'content-type': 'application/json' };
  httpRequest(gateway.url, { method: 'POST', path, headers, agent: false }, (response) => resolve(response.resume().statusCode)).end(
    JSON.stringify(BODY),
  );
  assert.equal(await status, 200);
});
