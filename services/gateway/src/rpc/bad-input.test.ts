import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { expectBatch, expectSingle, onBothTransports } from './both-transports.fixture.ts';
import { SECRETS, startTestGateway, type TestGatewayOptions } from '../gateway.fixture.ts';

const options: TestGatewayOptions = {
  handlers: {
    'session.history': () => ({ messages: [] }),
    'session.search': () => [],
    'session.list': () => ({ sessions: [] }),
  },
};

const call = (method: string, params = '{}', id = '1'): string => `{"jsonrpc":"2.0","method":"${method}","params":${params},"id":${id}}`;
const PING = call('system.ping', '{}', '"alive"');

describe('the gateway answers bad input and stays available', () => {
  for (const [name, message, code, id] of [
    ['invalid JSON', '{"jsonrpc":', -32700, null],
    ['nothing', '', -32700, null],
    ['an empty batch', '[]', -32600, null],
    ['a scalar', '42', -32600, null],
    ['an id that is an object', '{"jsonrpc":"2.0","method":"system.ping","id":{}}', -32600, null],
    ['an id that is true', '{"jsonrpc":"2.0","method":"system.ping","id":true}', -32600, null],
    ['an unknown method', call('nobody.home'), -32601, 1],
    ['a private operation', call('turns.start'), -32601, 1],
    ['a name of every object', call('constructor'), -32601, 1],
    ['a prototype as a method', call('__proto__'), -32601, 1],
    ['missing params', call('session.search'), -32602, 1],
    ['extra params', call('session.history', '{"colour":"red"}'), -32602, 1],
    ['extra params at the edge', call('system.ping', '{"x":1}'), -32602, 1],
    ['params of the wrong type', call('session.search', '{"query":5}'), -32602, 1],
    ['params that are an array', call('session.history', '[]'), -32602, 1],
    ['params that are null', call('session.history', 'null'), -32602, 1],
    ['__proto__ among the params', call('session.history', '{"__proto__":{"admin":true}}'), -32602, 1],
    ['__proto__ at the edge', call('system.ping', '{"__proto__":{"admin":true}}'), -32602, 1],
    ['a constructor among the params', call('session.history', '{"constructor":{"prototype":{"admin":true}}}'), -32602, 1],
    ['params 100,000 arrays deep', call('session.history', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), -32600, 1],
    ['100,000 open brackets', '['.repeat(100_000), -32700, null],
    ['a lone surrogate in the method', call('session.\\ud800'), -32601, 1],
  ] as const) {
    onBothTransports(
      name,
      async ({ send }) => {
        const answer = expectSingle(await send(message));
        assert.equal(answer.error?.code, code, JSON.stringify(answer));
        assert.deepEqual(answer.id, id);
        assert.equal(expectSingle(await send(PING)).id, 'alive');
        assert.equal(({} as { admin?: boolean }).admin, undefined);
      },
      options,
    );
  }

  onBothTransports('100,000 nested arrays', async ({ send }) => {
    const response = await send('['.repeat(100_000) + ']'.repeat(100_000));
    assert.deepEqual(
      expectBatch(response).map(({ error, id }) => [error?.code, id]),
      [[-32600, null]],
    );
  });

  onBothTransports('a batch above maxBatchSize is one refusal with both sizes', async ({ send, gateway }) => {
    const { error, id } = expectSingle(await send(`[${Array(51).fill(PING).join(',')}]`));
    assert.deepEqual([error?.code, id], [-32600, null]);
    assert.match(error?.message ?? '', /\b51\b.*\b50\b/);
    assert.equal(expectBatch(await send(`[${Array(50).fill(PING).join(',')}]`)).length, 50);
    gateway.settings.set({ maxBatchSize: 1 });
    assert.equal(expectSingle(await send(`[${PING},${PING}]`)).error?.code, -32600);
  });

  onBothTransports(
    'a repeated member uses the last value and grants no wider scope',
    async ({ send }) => {
      const message = '{"jsonrpc":"2.0","method":"system.ping","id":1,"method":"session.list","id":2}';
      const { error, id } = expectSingle(await send(message, SECRETS.rpc));
      assert.deepEqual([error?.code, error?.message, id], [-32603, "Insufficient scope: requires 'admin'", 2]);
    },
    options,
  );

  onBothTransports(
    'insufficient scope returns the documented message',
    async ({ send }) => {
      const denied = expectSingle(await send(call('session.list'), SECRETS.rpc)).error;
      assert.deepEqual([denied?.code, denied?.message], [-32603, "Insufficient scope: requires 'admin'"]);
      assert.deepEqual([denied?.data?.['code'], denied?.data?.['reason']], ['PERMISSION_DENIED', 'FORBIDDEN']);
      const adminOnly = expectSingle(await send(call('session.history'), SECRETS.admin)).error;
      assert.deepEqual([adminOnly?.code, adminOnly?.message], [-32603, "Insufficient scope: requires 'rpc'"]);
      assert.equal(expectSingle(await send(call('session.history'), SECRETS.mcp)).error?.code, -32603);
      assert.equal(expectSingle(await send(call('nobody.home'), SECRETS.mcp)).error?.code, -32601, 'the method is checked first');
      assert.equal(expectSingle(await send(call('session.list', '[]'), SECRETS.rpc)).error?.code, -32603, 'params are checked last');
      assert.ok(expectSingle(await send(call('session.list'), SECRETS.admin)).result);
      assert.ok(expectSingle(await send(call('rpc.discover'), SECRETS.mcp)).result, 'the document needs no scope');
    },
    options,
  );

  onBothTransports(
    'an error never repeats the invalid value',
    async ({ send }) => {
      const response = JSON.stringify(await send(call('session.search', '{"query":{"secret":"hunter2"}}')));
      assert.match(response, /query: expected string, got object/);
      assert.doesNotMatch(response, /hunter2/);
    },
    options,
  );

  test('answers any bytes over HTTP with 200 or 204 and a known code', async () => {
    await using gateway = await startTestGateway({ ...options, settings: { rateLimit: { windowMs: 1_000, maxRequests: 1_000_000 } } });
    const noise = fc.oneof(
      fc.json(),
      fc.string(),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      mutated(),
    );
    const codes = [-32700, -32600, -32601, -32602, -32603, -32000];
    await fc.assert(
      fc.asyncProperty(noise, async (message) => {
        const response = await gateway.post('/rpc', message, { token: SECRETS.all });
        const text = await response.text();
        assert.ok(response.status === 200 || response.status === 204, `${response.status} ${text}`);
        if (response.status === 204) return;
        const body: unknown = JSON.parse(text);
        for (const { error } of (Array.isArray(body) ? body : [body]) as { error?: { code: number } }[]) {
          assert.ok(error === undefined || codes.includes(error.code), text);
        }
      }),
      { numRuns: 200 },
    );
  });

  /** A request with one changed byte. */
  function mutated(): fc.Arbitrary<Buffer> {
    const original = Buffer.from(call('session.history', '{"channelId":"x","more":[1,{"a":null}]}', '"id"'));
    return fc.tuple(fc.nat(original.length - 1), fc.nat(255)).map(([index, byte]) => {
      const copy = Buffer.from(original);
      copy[index] = byte;
      return copy;
    });
  }
});
