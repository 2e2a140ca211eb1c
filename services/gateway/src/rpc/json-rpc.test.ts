import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import jayson from 'jayson/promise/index.js';
import { JSONRPCClient, type JSONRPCResponse } from 'json-rpc-2.0';
import { expectBatch, expectSingle, onBothTransports, type Received } from './both-transports.fixture.ts';
import { SECRETS, startTestGateway, toText, type TestGatewayOptions } from '../gateway.fixture.ts';

const options: TestGatewayOptions = {
  handlers: { 'session.history': ({ channelId = 'gateway' }) => ({ messages: [{ role: 'user', content: channelId }] }) },
};
const echo = (content: string): unknown => ({ messages: [{ role: 'user', content }] });
const history = (id: string, channelId = 'x'): string =>
  `{"jsonrpc":"2.0","method":"session.history","params":{"channelId":"${channelId}"},"id":${id}}`;

const summarize = (response: Received): unknown => expectBatch(response).map(({ id, error, result }) => [id, error?.code ?? result]);

describe('the examples of the JSON-RPC 2.0 specification', () => {
  onBothTransports(
    'call with positional parameters',
    async ({ send }) => {
      const { error, id } = expectSingle(await send('{"jsonrpc":"2.0","method":"session.history","params":[42,23],"id":1}'));
      assert.equal(error?.code, -32602);
      assert.equal(error.message, 'Invalid params: params: expected object, got array');
      assert.equal(id, 1);
    },
    options,
  );

  onBothTransports(
    'call with named parameters',
    async ({ send }) => {
      assert.deepEqual(expectSingle(await send(history('3', 'minuend'))), { jsonrpc: '2.0', result: echo('minuend'), id: 3 });
    },
    options,
  );

  onBothTransports(
    'a notification',
    async ({ send }) => {
      assert.equal(await send('{"jsonrpc":"2.0","method":"session.history","params":{}}'), undefined);
      assert.equal(await send('{"jsonrpc":"2.0","method":"foobar"}'), undefined);
      assert.equal(await send('{"jsonrpc":"2.0","method":"session.history","params":[1,2]}'), undefined);
      assert.equal(await send('{"jsonrpc":"2.0","method":"system.ping"}'), undefined);
    },
    options,
  );

  onBothTransports('call of a method that does not exist', async ({ send }) => {
    const { error, id } = expectSingle(await send('{"jsonrpc":"2.0","method":"foobar","id":"1"}'));
    assert.deepEqual([error?.code, error?.message, id], [-32601, 'Method not found', '1']);
  });

  onBothTransports('call with invalid JSON', async ({ send }) => {
    const { error, id } = expectSingle(await send('{"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]'));
    assert.deepEqual([error?.code, error?.message, id], [-32700, 'Parse error', null]);
  });

  onBothTransports('call with an invalid request object', async ({ send }) => {
    const { error, id } = expectSingle(await send('{"jsonrpc":"2.0","method":1,"params":"bar"}'));
    assert.deepEqual([error?.code, error?.message, id], [-32600, 'Invalid Request', null]);
  });

  onBothTransports('a batch of invalid JSON', async ({ send }) => {
    const { error, id } = expectSingle(
      await send('[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method"]'),
    );
    assert.deepEqual([error?.code, id], [-32700, null]);
  });

  onBothTransports('an empty array', async ({ send }) => {
    const { error, id } = expectSingle(await send('[]'));
    assert.deepEqual([error?.code, id], [-32600, null]);
  });

  onBothTransports('an invalid batch, but not an empty one', async ({ send }) => {
    assert.deepEqual(summarize(await send('[1]')), [[null, -32600]]);
    assert.deepEqual(
      summarize(await send('[1,2,3]')),
      [1, 2, 3].map(() => [null, -32600]),
    );
  });

  onBothTransports(
    'a batch of requests, notifications and invalid members',
    async ({ send }) => {
      const response = await send(
        `[${history('"1"', 'a')},{"jsonrpc":"2.0","method":"session.history","params":{}},${history('"2"', 'b')},{"foo":"boo"},{"jsonrpc":"2.0","method":"foo.get","params":{"name":"myself"},"id":"5"},{"jsonrpc":"2.0","method":"session.history","id":"9"}]`,
      );
      assert.deepEqual(summarize(response), [
        ['1', echo('a')],
        ['2', echo('b')],
        [null, -32600],
        ['5', -32601],
        ['9', echo('gateway')],
      ]);
    },
    options,
  );

  onBothTransports(
    'a batch of notifications',
    async ({ send }) => {
      assert.equal(await send('[{"jsonrpc":"2.0","method":"session.history"},{"jsonrpc":"2.0","method":"system.ping"}]'), undefined);
    },
    options,
  );
});

describe('ids', () => {
  for (const id of ['1', '-7', '1.5', '"1"', '""', '"ü\\u0000"', 'null', '123456789012345678901234567890', '1e2', '0.10']) {
    onBothTransports(
      `${id} is echoed unchanged`,
      async ({ gateway, send }) => {
        assert.deepEqual(expectSingle(await send(history(id))).id, JSON.parse(id));
        const raw = await gateway.post('/rpc', history(id), { token: SECRETS.all });
        assert.ok((await raw.text()).endsWith(`,"id":${id}}`), 'the bytes are unchanged');
      },
      options,
    );
  }

  onBothTransports(
    'may repeat within a batch',
    async ({ send }) => {
      assert.deepEqual(summarize(await send(`[${history('1', 'a')},${history('1', 'b')}]`)), [
        [1, echo('a')],
        [1, echo('b')],
      ]);
    },
    options,
  );
});

describe('third-party clients', () => {
  test('jayson calls, notifies and batches', async () => {
    await using gateway = await startTestGateway(options);
    const { hostname, port } = new URL(gateway.url);
    const headers = { authorization: `Bearer ${SECRETS.all}` };
    const client = jayson.Client.http({ hostname, port, path: '/rpc', headers });
    const answer = await client.request('session.history', { channelId: 'jayson' });
    assert.deepEqual(answer.result, echo('jayson'));
    const failed = await client.request('session.history', { wrong: 1 });
    assert.equal(failed.error.code, -32602);
    const batch = await client.request([
      client.request('session.history', { channelId: 'a' }, undefined, false),
      client.request('nobody.home', {}, undefined, false),
    ]);
    assert.deepEqual(
      batch.map(({ error, result }: { error?: { code: number }; result?: unknown }) => error?.code ?? result),
      [echo('a'), -32601],
    );
  });

  test('json-rpc-2.0 calls, notifies and batches over one WebSocket', async () => {
    await using gateway = await startTestGateway(options);
    const socket = await gateway.connect();
    const client = new JSONRPCClient((request) => {
      socket.send(JSON.stringify(request));
    });
    socket.socket.on('message', (data) => client.receive(JSON.parse(toText(data)) as JSONRPCResponse));
    client.notify('session.history', { channelId: 'unheard' });
    assert.deepEqual(await client.request('session.history', { channelId: 'one' }), echo('one'));
    await assert.rejects(async () => client.request('foo.bar', {}), { message: 'Method not found', code: -32601 });
    const both = await Promise.all([
      client.request('session.history', { channelId: 'a' }),
      client.request('session.history', { channelId: 'b' }),
    ]);
    assert.deepEqual(both, [echo('a'), echo('b')]);
  });
});
