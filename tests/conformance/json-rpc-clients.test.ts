import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import jayson from 'jayson/promise/index.js';
import { JSONRPCClient, type JSONRPCRequest, type JSONRPCResponse } from 'json-rpc-2.0';
import { contents } from '../e2e/clients.ts';
import { startEmbedded, type Running } from '../e2e/embedded.ts';
import { openSocket } from '../e2e/exchange.ts';

const RESPONSE = 'I am dev/echo, the development model. You said: hello';
const turn = (channelId: string): { message: string; sessionKey: { channelId: string } } => ({
  message: 'hello',
  sessionKey: { channelId },
});

/** Successful and failing calls of a batch: method, params, and the expected code or result. */
const CALLS: readonly (readonly [method: string, params: object, expected: unknown])[] = [
  ['agents.list', {}, { agents: ['default'] }],
  ['nobody.home', {}, -32601],
  ['session.history', { channelId: 5 }, -32602],
  ['channels.list', {}, -32603],
  ['session.history', { channelId: 'nobody' }, { messages: [] }],
];

let product: Running;
before(async () => {
  product = await startEmbedded();
});
after(() => product[Symbol.asyncDispose]());

interface Connected extends AsyncDisposable {
  client: JSONRPCClient;
}

function overHttp(): Promise<Connected> {
  const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
  const client = new JSONRPCClient(async (payload: unknown) => {
    const response = await fetch(`${product.url}/rpc`, { method: 'POST', headers, body: JSON.stringify(payload) });
    if (response.status !== 204) client.receive((await response.json()) as JSONRPCResponse);
  });
  return Promise.resolve({ client, [Symbol.asyncDispose]: () => Promise.resolve() });
}

async function overWebSocket(): Promise<Connected> {
  const socket = await openSocket(product, product.token);
  const client = new JSONRPCClient((payload: unknown) => socket.send(JSON.stringify(payload)));
  socket.raw.on('message', (data: Buffer) => client.receive(JSON.parse(data.toString()) as JSONRPCResponse));
  return { client, [Symbol.asyncDispose]: () => socket[Symbol.asyncDispose]() };
}

for (const [transport, connect] of [
  ['http', overHttp],
  ['ws', overWebSocket],
] as const) {
  describe(`json-rpc-2.0 over ${transport}`, () => {
    test('runs a turn', async () => {
      await using connected = await connect();
      const { response } = (await connected.client.request('agent.execute', turn(`plain-${transport}`))) as { response: string };
      assert.equal(response, RESPONSE);
    });

    test('receives each error with its code', async () => {
      await using connected = await connect();
      for (const [method, params, expected] of CALLS) {
        if (typeof expected === 'number') await assert.rejects(async () => connected.client.request(method, params), { code: expected });
        else assert.deepEqual(await connected.client.request(method, params), expected);
      }
    });

    test('sends concurrent calls', async () => {
      await using connected = await connect();
      const channels = Array.from({ length: 20 }, (_, n) => `at-once-${transport}-${n}`);
      const answers = await Promise.all(
        channels.map(async (channel) => connected.client.request('agent.execute', turn(channel)) as PromiseLike<object>),
      );
      assert.deepEqual(
        answers.map((answer) => 'sessionKey' in answer && answer.sessionKey),
        channels.map((channel) => `default:first:${channel}`),
      );
    });

    test('sends a batch', async () => {
      await using connected = await connect();
      const batch = CALLS.map(([method, params], id): JSONRPCRequest => ({ jsonrpc: '2.0', id, method, params }));
      const answers = await connected.client.requestAdvanced(batch);
      assert.deepEqual(
        answers.map(({ id, result, error }) => [id, error?.code ?? result]),
        CALLS.map(([, , expected], id) => [id, expected]),
      );
    });

    test('sends a notification that takes effect', async () => {
      await using connected = await connect();
      connected.client.notify('agent.execute', turn(`told-${transport}`));
      while ((await contents(product, `told-${transport}`)).length < 2) await connected.client.request('system.ping', {});
      assert.deepEqual(await contents(product, `told-${transport}`), ['hello', RESPONSE]);
    });
  });
}

describe('jayson over http', () => {
  function connect(): InstanceType<typeof jayson.Client> {
    const { hostname, port } = new URL(product.url);
    return jayson.Client.http({ hostname, port, path: '/rpc', headers: { authorization: `Bearer ${product.token}` } });
  }

  test('runs a turn', async () => {
    const { result } = await connect().request('agent.execute', turn('jayson'));
    assert.equal(result.response, RESPONSE);
  });

  test('sends a batch of calls and notifications', async () => {
    const client = connect();
    const batch = CALLS.map(([method, params], id) => client.request(method, params, id, false));
    const told = { jsonrpc: '2.0', method: 'agent.execute', params: turn('told-jayson') };
    const answers = (await client.request([...batch, told])) as JSONRPCResponse[];
    assert.deepEqual(
      answers.map(({ id, result, error }) => [id, error?.code ?? result]),
      CALLS.map(([, , expected], id) => [id, expected]),
    );
    while ((await contents(product, 'told-jayson')).length < 2);
  });
});
