import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawData, WebSocket } from 'ws';
import type { ChatEvent } from './chat.ts';
import { answer, FAST, startServer, type Call } from './client.fixture.ts';
import { createClient } from './client.ts';
import { RpcError } from './rpc-error.ts';

const TURN = 'turn_0000000000000000000001';
const RESULT = { response: 'one two three', tokensUsed: { input: 1, output: 3, total: 4 }, finishReason: 'stop', turnId: TURN };

const received = (data: RawData): Call => JSON.parse((data as Buffer).toString()) as Call;
const frame = (n: number, body: object, turnId = TURN): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'agent.frame', params: { turnId, frame: { n, ...body } } });
const delta = (n: number, text: string): string => frame(n, { type: 'delta', text });

type Script = (attach: Call, socket: WebSocket, connection: number) => void;

/** Starts a gateway that accepts every turn, sends the frames of the test and records all calls. */
async function start(script: Script) {
  const calls: Call[] = [];
  let connections = 0;
  const server = await startServer({
    socket(socket) {
      const connection = connections++;
      socket.on('message', (data) => {
        const call = received(data);
        calls.push(call);
        if (call.method === 'agent.start') socket.send(answer(call, { turnId: TURN, sessionKey: 'k', state: 'queued' }));
        else script(call, socket, connection);
      });
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  return {
    client,
    calls,
    async [Symbol.asyncDispose]() {
      client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const token = (text: string, accumulated: string): ChatEvent => ({ type: 'token', delta: text, accumulated });

test('chatOverSocket starts a turn, attaches to it and reads it to its end', async () => {
  await using t = await start((call, socket) => {
    for (const said of [frame(0, { type: 'accepted' }), delta(1, 'one '), delta(9, 'not mine').replace(TURN, 'turn_2'), delta(2, 'two')])
      socket.send(said);
    socket.send(answer(call, RESULT));
  });
  const events = await Array.fromAsync(t.client.chat('hi', { agentId: 'oslo', sessionKey: 'lobby' }));
  assert.deepEqual(events, [token('one ', 'one '), token('two', 'one two'), { type: 'done', ...RESULT }]);
  const [begun, attached] = t.calls;
  const { idempotencyKey, ...request } = begun?.params ?? {};
  assert.match(String(idempotencyKey), /^[0-9a-f]{32}$/);
  assert.deepEqual(request, { message: 'hi', agentId: 'oslo', sessionKey: 'lobby' });
  assert.deepEqual([attached?.method, attached?.params], ['agent.attach', { turnId: TURN }]);
});

test('chatOverSocket attaches again after the last received frame when the connection breaks', async () => {
  await using t = await start((call, socket, connection) => {
    if (connection === 0) {
      socket.send(delta(1, 'one '));
      socket.send(delta(2, 'two '), () => socket.terminate());
    } else if (connection === 1) {
      socket.terminate();
    } else {
      for (const said of [delta(2, 'two '), delta(3, 'three')]) socket.send(said); // a gateway may say again what was on its way
      socket.send(answer(call, RESULT));
    }
  });
  const events = await Array.fromAsync(t.client.chat('hi'));
  assert.deepEqual(events, [
    token('one ', 'one '),
    token('two ', 'one two '),
    token('three', 'one two three'),
    { type: 'done', ...RESULT },
  ]);
  assert.deepEqual(
    t.calls.map(({ method, params }) => [method, params['after']]),
    [
      ['agent.start', undefined],
      ['agent.attach', undefined],
      ['agent.attach', 2],
      ['agent.attach', 2],
    ],
  );
});

test('chatOverSocket repeats agent.start with the same idempotency key when the connection breaks', async () => {
  const keys: unknown[] = [];
  await using server = await startServer({
    socket(socket) {
      socket.on('message', (data) => {
        const call = received(data);
        if (call.method === 'agent.attach') return socket.send(answer(call, RESULT));
        keys.push(call.params['idempotencyKey']);
        if (keys.length < 3) socket.terminate();
        else socket.send(answer(call, { turnId: TURN, sessionKey: 'k', state: 'queued' }));
      });
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  assert.deepEqual(await Array.fromAsync(client.chat('hi')), [{ type: 'done', ...RESULT }]);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  client.close();
});

test('chatOverSocket replaces the text on a resumed frame', async () => {
  await using t = await start((call, socket) => {
    socket.send(delta(1, 'one twice '));
    socket.send(frame(5, { type: 'resumed', text: 'one ' }));
    socket.send(delta(6, 'two'));
    socket.send(answer(call, RESULT));
  });
  const events = await Array.fromAsync(t.client.chat('hi'));
  assert.deepEqual(events.slice(1, 3), [{ type: 'resumed', accumulated: 'one ' }, token('two', 'one two')]);
});

test('chatOverSocket rejects with the failure of the turn after its frames', async () => {
  await using t = await start((call, socket) => {
    socket.send(delta(1, 'one '));
    const error = { code: -32603, message: 'The model is away.', data: { code: 'UNAVAILABLE', retryable: false, requestId: 'r' } };
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, error }));
  });
  const events: ChatEvent[] = [];
  const failed = await (async () => {
    for await (const event of t.client.chat('hi')) events.push(event);
  })().catch((error: unknown) => error);
  assert.ok(failed instanceof RpcError);
  assert.equal(failed.message, 'The model is away.');
  assert.deepEqual(events, [token('one ', 'one ')]);
  assert.equal(t.calls.length, 2, 'a failure is no lost connection');
});

test('chatOverSocket stops listening when the reader leaves', async () => {
  await using t = await start((call, socket) => {
    if (call.method === 'system.ping') socket.send(answer(call, { pong: true, ts: 1 }));
    else socket.send(delta(1, 'one '));
  });
  for await (const event of t.client.chat('hi')) {
    assert.equal(event.type, 'token');
    break;
  }
  const leaving = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of t.client.chat('hi', { signal: leaving.signal })) leaving.abort(new Error('enough'));
  }, /enough/);
  assert.deepEqual(await t.client.call('system.ping'), { pong: true, ts: 1 });
});
