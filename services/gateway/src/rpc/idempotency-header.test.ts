import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECRETS, startTestGateway, type Answer, type TestGatewayOptions } from '../gateway.fixture.ts';

const RESULT = { response: 'hi', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' } as const;

function request(method: string, params?: string, id: string | null = '1'): string {
  const members = [`"jsonrpc":"2.0","method":"${method}"`, ...(params === undefined ? [] : [`"params":${params}`])];
  return `{${[...members, ...(id === null ? [] : [`"id":${id}`])].join(',')}}`;
}

/** A gateway and the keys that its service received. */
async function start() {
  const keys: unknown[] = [];
  const handlers: TestGatewayOptions['handlers'] = {
    'agent.execute': ({ idempotencyKey }) => {
      keys.push(idempotencyKey);
      return RESULT;
    },
    'session.history': () => ({ messages: [] }),
  };
  const gateway = await startTestGateway({ handlers });
  const call = async (body: string, key: string | undefined): Promise<Answer | undefined> => {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const response = await gateway.post('/rpc', body, { token: SECRETS.all, headers });
    const text = await response.text();
    return text === '' ? undefined : (JSON.parse(text) as Answer);
  };
  return { call, keys, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

test('forwards the header key as a param', async () => {
  await using t = await start();
  for (const params of ['{"message":"hi"}', '{ \n"message":"hi"}', '{"message":"hi","idempotencyKey":"order-17"}']) {
    assert.deepEqual((await t.call(request('agent.execute', params), 'order-17'))?.result, RESULT, params);
  }
  await t.call(request('agent.execute', '{"message":"hi"}'), undefined);
  assert.deepEqual(t.keys, ['order-17', 'order-17', 'order-17', undefined]);
});

test('adds the key to empty params', async () => {
  await using t = await start();
  for (const params of [undefined, '{}', '{ }']) {
    const { error } = (await t.call(request('agent.execute', params), 'k')) ?? {};
    assert.equal(error?.message, 'Invalid params: message: expected string, got nothing', params);
  }
});

test('refuses the header on a batch', async () => {
  await using t = await start();
  const answer = await t.call(`[${request('agent.execute', '{"message":"hi"}')},${request('system.ping')}]`, 'k');
  assert.deepEqual([answer?.id, answer?.error?.code], [null, -32600]);
  assert.match(answer?.error?.message ?? '', /Idempotency-Key applies to a single call; in a batch set params\.idempotencyKey/);
  assert.deepEqual(t.keys, []);
});

test('refuses the header for a method without idempotency keys', async () => {
  await using t = await start();
  const cases = [
    ['session.history', 'the method is idempotent'],
    ['agents.create', 'each call is executed again'],
    ['system.ping', 'the method is idempotent'],
  ] as const;
  for (const [method, reason] of cases) {
    const { error } = (await t.call(request(method, '{}'), 'k')) ?? {};
    const expected = `Invalid params: ${method} takes no idempotency key (${reason}); omit the header Idempotency-Key`;
    assert.deepEqual([error?.code, error?.message], [-32602, expected]);
  }
  const unknown = await t.call(request('nobody.home'), 'k');
  assert.equal(unknown?.error?.code, -32601);
});

test('refuses an invalid key and two keys that differ', async () => {
  await using t = await start();
  const getErrorMessage = async (params: string, key: string) => (await t.call(request('agent.execute', params), key))?.error?.message;
  const expected = 'Idempotency-Key: expected 1 to 256 visible ASCII characters, got another string';
  for (const key of ['', 'two words', 'k'.repeat(257), 'gr\u00fcn'])
    assert.equal(await getErrorMessage('{"message":"hi"}', key), `Invalid params: ${expected}`);
  assert.match(
    (await getErrorMessage('{"message":"hi","idempotencyKey":"b"}', 'a')) ?? '',
    /expected the key of the header Idempotency-Key, got another key/,
  );
  assert.match((await getErrorMessage('{"message":"hi","idempotencyKey":7}', 'a')) ?? '', /got another key/);
  assert.deepEqual(t.keys, []);
});

test('runs a notification under its key', async () => {
  await using t = await start();
  assert.equal(await t.call(request('agent.execute', '{"message":"hi"}', null), 'k'), undefined);
  assert.equal(await t.call(request('agents.create', '{}', null), 'k'), undefined);
  await t.call(request('session.history'), undefined);
  assert.deepEqual(t.keys, ['k']);
});
