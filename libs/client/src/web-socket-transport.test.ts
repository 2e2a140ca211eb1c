import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawData, WebSocket } from 'ws';
import { answer, FAST, PONG, startServer, type Call } from './client.fixture.ts';
import { createClient } from './client.ts';
import type { RpcError } from './rpc-error.ts';

function received(data: RawData): Call {
  return JSON.parse((data as Buffer).toString()) as Call;
}

function refused(error: RpcError): boolean {
  return error.data.code === 'UNAUTHENTICATED' && !error.retryable;
}

/** Responds to every message and records it. */
function echo(calls: Call[]) {
  return (socket: WebSocket) => {
    socket.on('message', (data) => {
      const call = received(data);
      calls.push(call);
      if (call.id !== undefined) socket.send(answer(call, { pong: true, ts: call.id }));
    });
  };
}

test('calls share one connection with the token in a header', async () => {
  const calls: Call[] = [];
  const connections: [string | undefined, string | undefined][] = [];
  await using server = await startServer({
    socket(socket, request) {
      connections.push([request.url, request.headers.authorization]);
      echo(calls)(socket);
    },
  });
  const client = createClient({ url: server.url, token: 'secret', transport: 'ws' });
  const answers = await Promise.all([client.call('system.ping'), client.call('system.ping'), client.call('system.ping')]);
  assert.deepEqual(
    answers.map(({ ts }) => ts),
    [1, 2, 3],
  );
  assert.deepEqual(connections, [['/ws', 'Bearer secret']]);
  assert.deepEqual(calls[0], { jsonrpc: '2.0', id: 1, method: 'system.ping', params: {} });
  client.close();
});

test('sends the token in the query string with tokenIn: query', async () => {
  let question: string | undefined;
  await using server = await startServer({
    socket(socket, request) {
      question = request.url;
      echo([])(socket);
    },
  });
  const client = createClient({ url: server.url, token: 'a b', transport: 'ws', tokenIn: 'query' });
  await client.call('system.ping');
  assert.equal(question, '/ws?token=a+b');
  client.close();
});

test('matches answers to calls and batches in any order', async () => {
  const held: Call[] = [];
  await using server = await startServer({
    socket: (socket) =>
      void socket.on('message', (data) => {
        const message: Call | Call[] = received(data);
        if (Array.isArray(message)) return socket.send(`[${message.map((call) => answer(call, PONG)).join()}]`);
        held.push(message);
        if (held.length === 2) for (const call of held.toReversed()) socket.send(answer(call, { pong: true, ts: call.id }));
      }),
  });
  const client = createClient({ url: server.url, transport: 'ws' });
  const [a, b] = await Promise.all([client.call('system.ping'), client.call('system.ping')]);
  assert.deepEqual([a.ts, b.ts], [1, 2]);
  const ping = { method: 'system.ping', params: {} } as const;
  assert.deepEqual(await client.batch([ping, ping]), [
    { ok: true, result: PONG },
    { ok: true, result: PONG },
  ]);
  client.close();
});

test('fails a pending call when the connection breaks and repeats idempotent calls', async () => {
  let connections = 0;
  const second: Call[] = [];
  await using server = await startServer({
    socket(socket) {
      connections += 1;
      if (connections === 2) return echo(second)(socket);
      let seen = 0;
      socket.on('message', () => {
        seen += 1;
        if (seen === 2) socket.terminate();
      });
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  const once = client.call('agent.execute', { message: 'hi' });
  const twice = client.call('system.ping', {}, { idempotent: true });
  await assert.rejects(once, (error: RpcError) => !error.retryable && error.data.reason === 'CONNECTION_LOST');
  assert.deepEqual(await twice, { pong: true, ts: 2 });
  assert.deepEqual(
    second.map(({ id }) => id),
    [2],
  );
  client.close();
});

test('queues calls while there is no connection', async () => {
  const calls: Call[] = [];
  let connections = 0;
  await using server = await startServer({
    socket(socket) {
      connections += 1;
      if (connections < 3) socket.close(1001, 'Server shutting down');
      else echo(calls)(socket);
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  client.on('heartbeat', () => {});
  assert.deepEqual(await client.call('system.ping', {}, { idempotent: true }), { pong: true, ts: 1 });
  assert.equal(connections, 3);
  client.close();
});

test('fails all calls and stops reconnecting after close code 4001', async () => {
  let connections = 0;
  await using server = await startServer({
    socket(socket) {
      connections += 1;
      socket.close(4001, 'Unauthorized');
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  await assert.rejects(client.call('system.ping', {}, { idempotent: true, timeoutMs: 5_000 }), refused);
  await assert.rejects(client.call('system.ping'), refused);
  await assert.rejects(client.notify('system.ping'), refused);
  assert.equal(connections, 1);
});

test('assigns an error without an id to the newest call', async () => {
  await using server = await startServer({
    socket(socket) {
      let seen = 0;
      socket.on('message', (data) => {
        seen += 1;
        if (seen < 3) return;
        socket.send('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Message rate limit exceeded"}}');
        const { id } = received(data);
        for (let each = 1; each < Number(id); each += 1) socket.send(JSON.stringify({ jsonrpc: '2.0', id: each, result: PONG }));
      });
    },
  });
  const client = createClient({ url: server.url, transport: 'ws' });
  const outcomes = await Promise.allSettled([client.call('system.ping'), client.call('system.ping'), client.call('system.ping')]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  assert.equal(outcomes[2]?.status === 'rejected' && (outcomes[2].reason as RpcError).data.code, 'RESOURCE_EXHAUSTED');
  client.close();
});

test('delivers notifications to listeners across connections', async () => {
  const open: WebSocket[] = [];
  const connected: ((socket: WebSocket) => void)[] = [];
  await using server = await startServer({
    socket(socket) {
      open.push(socket);
      connected.shift()?.(socket);
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  const next = () => new Promise<WebSocket>((resolve) => void connected.push(resolve));
  const first = next();
  const receivedMessages: number[] = [];
  const waiting: (() => void)[] = [];
  const stop = client.on('heartbeat', ({ ts }) => {
    receivedMessages.push(ts);
    waiting.shift()?.();
  });
  const beat = async (socket: WebSocket, ts: number) => {
    const told = new Promise<void>((resolve) => void waiting.push(resolve));
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'heartbeat', params: { ts } }));
    await told;
  };
  await beat(await first, 1);
  const second = next();
  open[0]?.terminate();
  await beat(await second, 2);
  stop();
  assert.deepEqual(receivedMessages, [1, 2]);
  client.close();
});

test('reconnects after three heartbeat intervals of silence', { timeout: 60_000 }, async () => {
  let connections = 0;
  const back = Promise.withResolvers<void>();
  await using server = await startServer({
    socket(socket) {
      connections += 1;
      if (connections === 2) return back.resolve();
      for (const ts of [1_000, 1_005]) socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'heartbeat', params: { ts } }));
    },
  });
  const client = createClient({ url: server.url, transport: 'ws', reconnect: FAST });
  client.on('heartbeat', () => {});
  await back.promise;
  client.close();
});

test('notify sends no id; calls reject on abort, timeout and close', async () => {
  const closed = Promise.withResolvers<number>();
  await using server = await startServer({
    socket(socket) {
      socket.on('close', (code) => closed.resolve(code));
      socket.on('message', (data) => {
        const call = received(data);
        if (call.id === undefined) socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'heartbeat', params: { ts: 7, ...call } }));
      });
    },
  });
  const client = createClient({ url: server.url, transport: 'ws' });
  const echoed = new Promise((resolve) => void client.on('heartbeat', resolve));
  await client.notify('system.ping');
  assert.deepEqual(await echoed, { ts: 7, jsonrpc: '2.0', method: 'system.ping', params: {} });

  const abort = new AbortController();
  const aborted = client.call('system.ping', {}, { signal: abort.signal });
  abort.abort(new Error('enough'));
  await assert.rejects(aborted, { message: 'enough' });
  await assert.rejects(client.call('system.ping', {}, { timeoutMs: 5 }), (error: RpcError) => error.data.code === 'DEADLINE_EXCEEDED');
  const left = client.call('system.ping');
  client.close();
  await assert.rejects(left, (error: RpcError) => error.data.reason === 'CLIENT_CLOSED');
  assert.equal(await closed.promise, 1005);
});

test('on throws a TypeError over http', () => {
  assert.throws(() => createClient({ url: 'http://127.0.0.1:1' }).on('heartbeat', () => {}), /transport: 'ws'/);
});
