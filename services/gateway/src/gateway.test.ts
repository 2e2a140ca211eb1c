import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { SECRETS, startTestGateway } from './gateway.fixture.ts';
import { readError } from './problem.fixture.ts';

const HISTORY = '{"jsonrpc":"2.0","method":"session.history","id":1}';

describe('health', () => {
  test('is public and has the documented format', async () => {
    await using gateway = await startTestGateway();
    for (const path of ['/health', '/api/health']) {
      const response = await fetch(gateway.url + path);
      const body = (await response.json()) as { status: string; timestamp: string };
      assert.equal(response.status, 200);
      assert.equal(body.status, 'ok');
      assert.equal(new Date(body.timestamp).toISOString(), body.timestamp);
    }
    const ready = await fetch(`${gateway.url}/readyz`);
    const well = { ready: true, since: 0 };
    assert.deepEqual(
      [ready.status, await ready.json()],
      [200, { ready: true, status: 'ready', dependencies: { bus: well, tokens: well, sessions: well } }],
    );
  });

  test('is not ready but alive without the bus', async () => {
    const gateway = await startTestGateway();
    await gateway.gateway.edge.bus.drain();
    const ready = await fetch(`${gateway.url}/readyz`);
    const body = (await ready.json()) as { status: string; dependencies: Record<string, { ready: boolean }> };
    assert.deepEqual([ready.status, body.status, body.dependencies['bus']?.ready], [503, 'unavailable', false]);
    assert.equal((await fetch(`${gateway.url}/livez`)).status, 200);
    assert.equal((await fetch(`${gateway.url}/health`)).status, 200);
    await gateway[Symbol.asyncDispose]();
  });
});

describe('closing', () => {
  test('closes WebSockets, waits for a running request and reports draining', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': async () => {
          start();
          await released;
          return { messages: [] };
        },
      },
    });
    const socket = await gateway.connect();
    const keepAlive = await openKeepAlive(`${gateway.url}/health`);
    const response = gateway.post('/rpc', HISTORY, { token: SECRETS.all });
    await started;
    const keepAliveClosed = once(keepAlive, 'close');
    const closed = gateway.gateway.close();
    assert.equal(gateway.gateway.edge.closing.aborted, true);
    assert.deepEqual(await socket.closed, { code: 1001, reason: 'Server shutting down' });
    await keepAliveClosed;
    await assert.rejects(fetch(`${gateway.url}/health`), 'no new connection is accepted');
    release();
    assert.equal((await response).status, 200);
    await closed;
  });

  test('serves requests during drainDelayMs and closes each connection after its response', async () => {
    await using gateway = await startTestGateway({ handlers: { 'session.history': () => ({ messages: [] }) } });
    const socket = await gateway.connect();
    const keepAlive = await openKeepAlive(`${gateway.url}/health`);
    let open = true;
    void socket.closed.then(() => (open = false));
    const closed = gateway.gateway.close({ delayMs: 300 });

    const probe = await fetch(`${gateway.url}/readyz`);
    const { ready, status } = (await probe.json()) as { ready: boolean; status: string };
    assert.deepEqual([probe.status, ready, status], [503, false, 'draining']);
    const served = await gateway.post('/rpc', HISTORY, { token: SECRETS.all });
    assert.deepEqual([served.status, served.headers.get('connection')], [200, 'close']);
    assert.equal(probe.headers.get('connection'), 'close');
    assert.deepEqual((await socket.request(HISTORY)).result, { messages: [] });
    const late = await gateway.connect();
    assert.deepEqual([open, keepAlive.destroyed], [true, false]);

    assert.deepEqual(await socket.closed, { code: 1001, reason: 'Server shutting down' });
    assert.equal((await late.closed).code, 1001);
    await closed;
    await assert.rejects(fetch(`${gateway.url}/health`), 'no new connection is accepted');
  });

  test('answers requests that exceed the drain timeout in the format of their route', async () => {
    const { promise: allStarted, resolve: resolveAllStarted } = Promise.withResolvers<void>();
    let startedCount = 0;
    const started = (): void => void (++startedCount === 3 && resolveAllStarted());
    const { promise: stopped, resolve: stop } = Promise.withResolvers<unknown>();
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': (_params, { signal }) => {
          started();
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              reject(new Error('stopped'));
              stop(signal.reason);
            });
          });
        },
        'turns.start': ({ turnId }) => {
          setImmediate(started);
          return { turnId, sessionKey: 'k', state: 'running' as const };
        },
        async *'turns.run'(_turn, { signal }) {
          yield { n: 0, type: 'delta' as const, text: 'begun' };
          started();
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          throw new Error('stopped');
        },
      },
    });
    const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] });
    const rpc = gateway.post('/rpc', HISTORY, { token: SECRETS.all });
    const chat = gateway.post('/api/chat', '{"message":"x"}', { token: SECRETS.all });
    const chunks = gateway.post('/v1/chat/completions', body, { token: SECRETS.all });
    await allStarted;
    const closed = gateway.gateway.close({ finishMs: 100 });
    const { error } = (await (await rpc).json()) as { error: { data: { code: string; reason: string } } };
    assert.deepEqual([(await rpc).status, error.data.code, error.data.reason], [200, 'UNAVAILABLE', 'SHUTTING_DOWN']);
    assert.deepEqual(
      [(await chat).status, await readError(await chat)],
      [503, { error: 'The gateway is shutting down. The turn continues.' }],
    );
    assert.match(await (await chunks).text(), /begun[^]*"error":[^]*shutting down[^]*data: \[DONE\]\n\n$/);
    await closed;
    assert.equal(((await stopped) as { code: string }).code, 'CANCELLED', 'the handler is cancelled');
  });

  test('does not wait for a connection without a request', { timeout: 60_000 }, async () => {
    await using gateway = await startTestGateway();
    const { hostname, port } = new URL(gateway.url);
    const sockets = [1, 2].map(() => connect(Number(port), hostname));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    sockets[1]?.write('POST /rpc HTTP/1.1\r\nhost: loc');
    const closed = sockets.map((socket) => new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve)));
    await gateway.gateway.close({ finishMs: 60_000 });
    await Promise.all(closed);
  });

  test('does not wait for an unresponsive WebSocket', async () => {
    const gateway = await startTestGateway();
    const socket = await gateway.connect();
    socket.socket.pause();
    await gateway[Symbol.asyncDispose]();
    socket.socket.resume();
    await socket.closed;
  });
});

/** The socket of a keep-alive connection. */
async function openKeepAlive(url: string): Promise<IncomingMessage['socket']> {
  const request = get(url, { headers: { connection: 'keep-alive' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const { socket } = response;
  response.resume();
  await once(response, 'end');
  return socket;
}
