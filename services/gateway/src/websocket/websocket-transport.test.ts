import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { subjects } from '@switchyard/contracts';
import { WebSocket } from 'ws';
import { startHeartbeat } from './heartbeat.ts';
import { SECRETS, startTestGateway, type Answer, type TestGateway } from '../gateway.fixture.ts';
import { readError } from '../problem.fixture.ts';

const ping = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'system.ping', id });
/** Far below the deadline of any call, so that a test fails if only the deadline ends the call. */
const SHORT_TIMEOUT = { timeout: 60_000 };
const history = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'session.history', id });

/** The status of an upgrade; 101 when it is accepted. */
async function getUpgradeStatus(
  gateway: TestGateway,
  { path = '/ws', headers = {} }: { path?: string; headers?: Record<string, string> },
): Promise<number> {
  const socket = new WebSocket(gateway.url.replace('http', 'ws') + path, { headers });
  const status = new Promise<number>((resolve) => {
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    socket.once('upgrade', (response) => resolve(response.statusCode ?? 0));
  });
  socket.on('error', () => undefined);
  return status.finally(() => socket.terminate());
}

describe('the upgrade', () => {
  test('accepts the token in the header or the query, and prefers the header', async () => {
    await using gateway = await startTestGateway();
    assert.equal((await (await gateway.connect(SECRETS.all)).request(ping(1))).id, 1);
    assert.equal((await (await gateway.connect('', `/ws?token=${SECRETS.all}`)).request(ping(1))).id, 1);
    const wrong = await gateway.connect('wrong', `/ws?token=${SECRETS.all}`);
    assert.deepEqual(await wrong.closed, { code: 4001, reason: 'Unauthorized' });
  });

  test('is accepted and closed with 4001 without a valid token', async () => {
    await using gateway = await startTestGateway();
    for (const [token, path] of [
      ['', '/ws'],
      ['wrong', '/ws'],
      ['', '/ws?token=wrong'],
      ['', '/ws?token='],
    ] as const) {
      assert.deepEqual(await (await gateway.connect(token, path)).closed, { code: 4001, reason: 'Unauthorized' });
    }
    assert.equal(gateway.gateway.connections.all.size, 0);
  });

  test('is refused for an address with too many failures', async () => {
    await using gateway = await startTestGateway({ settings: { authFailures: { maxFailures: 1, windowMs: 60_000 } } });
    await (
      await gateway.connect('wrong')
    ).closed;
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization: 'Bearer wrong' } }), 429);
    assert.equal((await (await gateway.connect()).request(ping(1))).id, 1);
  });

  test('is refused for a foreign origin, host or path', async () => {
    await using gateway = await startTestGateway();
    const authorization = `Bearer ${SECRETS.all}`;
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization, origin: 'https://evil.example' } }), 403);
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization, host: 'evil.example' } }), 403);
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization }, path: '/elsewhere' }), 404);
  });

  test('is refused above the request rate', async () => {
    await using gateway = await startTestGateway({ settings: { rateLimit: { maxRequests: 2, windowMs: 60_000 } } });
    for (let n = 0; n < 2; n++) (await gateway.connect(SECRETS.rpc)).socket.close();
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization: `Bearer ${SECRETS.rpc}` } }), 429);
    assert.equal((await (await gateway.connect(SECRETS.all)).request(ping(1))).id, 1);
  });

  test('is refused above the limits per token and per replica', async () => {
    await using gateway = await startTestGateway({ settings: { maxConnectionsPerToken: 1 } });
    const headers = { authorization: `Bearer ${SECRETS.rpc}` };
    const first = await gateway.connect(SECRETS.rpc);
    assert.equal(await getUpgradeStatus(gateway, { headers }), 429);
    gateway.settings.set({ maxConnections: 1 });
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization: `Bearer ${SECRETS.all}` } }), 503);
    gateway.settings.set({ maxConnections: 10, maxConnectionsPerAddress: 1 });
    assert.equal(await getUpgradeStatus(gateway, { headers: { authorization: `Bearer ${SECRETS.all}` } }), 429);
    first.socket.close();
    await first.closed;
    assert.equal((await (await gateway.connect(SECRETS.rpc)).request(ping(1))).id, 1);
  });

  test('closes the connection with 4001 when the token is revoked', async () => {
    await using gateway = await startTestGateway();
    const secret = 'a-secret-that-will-not-live-very-long';
    for (const end of [() => gateway.removeToken('short'), () => gateway.putToken({ id: 'short', secret: `${secret}-2`, ver: 2 })]) {
      await gateway.putToken({ id: 'short', secret });
      const socket = await gateway.connect(secret);
      assert.equal((await socket.request(ping(1))).id, 1);
      await end();
      let replies = 0;
      socket.socket.on('message', () => replies++);
      socket.send(ping(2));
      assert.deepEqual(await socket.closed, { code: 4001, reason: 'Unauthorized' });
      assert.equal(replies, 0);
    }
  });

  test('closes an idle connection when its token expires or is revoked', SHORT_TIMEOUT, async () => {
    await using gateway = await startTestGateway();
    const secrets = ['a-secret-that-expires-while-one-listens', 'a-secret-that-is-revoked-while-one-listens'] as const;
    const expiresAt = Date.now() + 2_000;
    await gateway.putToken({ id: 'expires', secret: secrets[0], expiresAt });
    await gateway.putToken({ id: 'goes', secret: secrets[1] });
    const [expiring, revoked] = [await gateway.connect(secrets[0]), await gateway.connect(secrets[1])];
    await gateway.removeToken('goes');
    for (const socket of [revoked, expiring]) assert.deepEqual(await socket.closed, { code: 4001, reason: 'Unauthorized' });
    assert.ok(Date.now() >= expiresAt, 'no connection is closed before its token expires');
    assert.deepEqual(await (await gateway.connect(secrets[0])).closed, { code: 4001, reason: 'Unauthorized' });
  });
});

test('sends short and long responses of any script in order', SHORT_TIMEOUT, async () => {
  await using gateway = await startTestGateway();
  const client = await gateway.connect();
  const ids = [1, 80, 126, 20_000, 2, 70_000, 60].map((length) => 'ŷ€'.repeat(length));
  for (const id of ids) client.send(ping(id));
  for (const id of ids) assert.equal((await client.next()).id, id);
});

test('returns 426 for a request without an upgrade', async () => {
  await using gateway = await startTestGateway();
  const response = await fetch(`${gateway.url}/ws`, { headers: { authorization: `Bearer ${SECRETS.all}` } });
  assert.deepEqual(
    [response.status, response.headers.get('upgrade'), await readError(response)],
    [426, 'websocket', { error: 'Upgrade Required' }],
  );
});

describe('a message', () => {
  test('in a binary frame is a parse error', async () => {
    await using gateway = await startTestGateway();
    const socket = await gateway.connect();
    socket.send(Buffer.from(ping(1)));
    const { id, error } = await socket.next();
    assert.deepEqual([id, error?.code, error?.message], [null, -32700, 'Binary messages not supported']);
    assert.equal((await socket.request(ping(2))).id, 2);
  });

  test('above the size limit is refused with both sizes, in characters', async () => {
    await using gateway = await startTestGateway();
    const socket = await gateway.connect();
    const { id, error } = await socket.request(' '.repeat(2_000_000));
    assert.deepEqual([id, error?.code], [null, -32600]);
    assert.match(error?.message ?? '', /2000000.*1048576/);
    const message = ping('üüüü😀');
    gateway.settings.set({ wsMaxMessageBytes: message.length });
    assert.equal((await socket.request(message)).id, 'üüüü😀', 'characters are counted, not bytes');
    assert.equal((await socket.request(`${message} `)).error?.code, -32600);
  });

  test('far above the size limit closes the connection', async () => {
    await using gateway = await startTestGateway({ settings: { wsMaxMessageBytes: 1_000 } });
    const socket = await gateway.connect();
    socket.send(' '.repeat(6_000));
    assert.equal((await socket.closed).code, 1009);
  });

  test('above the rate is refused; a batch counts as its calls, and a raised rate applies at once', async () => {
    await using gateway = await startTestGateway({ settings: { wsMessageRateLimit: { maxMessages: 4, windowMs: 60_000 } } });
    const socket = await gateway.connect();
    assert.equal(((await socket.request(`[${ping(1)},${ping(2)},${ping(3)}]`)) as unknown as Answer[]).length, 3);
    const batch = await socket.request(`[${ping(1)},${ping(2)}]`);
    assert.deepEqual([batch.id, batch.error?.code, batch.error?.data?.['retryable']], [null, -32000, true]);
    const { id, error } = await socket.request(ping(5));
    assert.deepEqual([id, error?.code, error?.message], [null, -32000, 'Message rate limit exceeded']);
    assert.ok(Number(error?.data?.['retryAfterMs']) > 0);
    gateway.settings.set({ wsMessageRateLimit: { maxMessages: 5, windowMs: 60_000 } });
    assert.equal((await socket.request(ping(6))).id, 6);
  });

  test('that is a batch above the rate is refused as not retryable', async () => {
    await using gateway = await startTestGateway({ settings: { wsMessageRateLimit: { maxMessages: 2, windowMs: 60_000 } } });
    const { error } = await (await gateway.connect()).request(`[${ping(1)},${ping(2)},${ping(3)}]`);
    assert.deepEqual([error?.code, error?.message], [-32000, 'Message rate limit exceeded']);
    assert.deepEqual([error?.data?.['retryable'], error?.data?.['retryAfterMs']], [false, undefined]);
  });

  test('counts against the rate of its client over all connections and reconnects', async () => {
    await using gateway = await startTestGateway({ settings: { wsMessageRateLimit: { maxMessages: 2, windowMs: 60_000 } } });
    const first = await gateway.connect(SECRETS.rpc);
    await first.request(ping(1));
    const second = await gateway.connect(SECRETS.rpc);
    await second.request(ping(2));
    first.socket.close();
    await first.closed;
    assert.equal((await (await gateway.connect(SECRETS.rpc)).request(ping(3))).error?.code, -32000);
    assert.equal((await (await gateway.connect(SECRETS.all)).request(ping(4))).id, 4, 'another client has its own');
  });

  test('has a lower size limit for a token without call scopes', async () => {
    await using gateway = await startTestGateway();
    const socket = await gateway.connect(SECRETS.mcp);
    assert.equal((await socket.request(ping(1))).error?.data?.['reason'], 'FORBIDDEN');
    const { error } = await socket.request(ping('x'.repeat(20_000)));
    assert.match(error?.message ?? '', /maximum 16384/);
  });

  test('is checked for binary data before its rate', async () => {
    await using gateway = await startTestGateway({
      settings: { wsMessageRateLimit: { maxMessages: 1, windowMs: 60_000 }, wsMaxMessageBytes: 100 },
    });
    const socket = await gateway.connect();
    await socket.request(ping(1));
    socket.send(Buffer.from('x'));
    assert.equal((await socket.next()).error?.code, -32700);
    assert.equal((await socket.request(' '.repeat(101))).error?.code, -32000, 'the rate is checked before the size');
  });

  test('closes the connection after a thousand refusals', async () => {
    await using gateway = await startTestGateway({ settings: { wsMessageRateLimit: { maxMessages: 1, windowMs: 60_000 } } });
    const socket = await gateway.connect();
    for (let i = 0; i < 1_002; i++) socket.send('1');
    assert.equal((await socket.closed).code, 1008);
  });

  test('is answered as soon as its call completes', SHORT_TIMEOUT, async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': async () => {
          await released;
          return { messages: [] };
        },
      },
    });
    const socket = await gateway.connect();
    socket.send(history('slow'));
    assert.equal((await socket.request(ping('quick'))).id, 'quick');
    release();
    assert.equal((await socket.next()).id, 'slow');
  });

  test('is cancelled when the client disconnects', SHORT_TIMEOUT, async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<AbortSignal>();
    await using gateway = await startTestGateway({
      handlers: {
        'session.history': async (_params, ctx) => {
          start(ctx.signal);
          await once(ctx.signal, 'abort');
          return { messages: [] };
        },
      },
    });
    const socket = await gateway.connect();
    socket.send(history(1));
    const signal = await started;
    socket.socket.terminate();
    if (!signal.aborted) await once(signal, 'abort');
  });

  test('is not read while more than a thousand calls are pending', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let runningCalls = 0;
    const { promise: full, resolve: fill } = Promise.withResolvers<void>();
    await using gateway = await startTestGateway({
      settings: { wsMessageRateLimit: { maxMessages: 10_000, windowMs: 60_000 } },
      handlers: {
        'session.history': async () => {
          if (++runningCalls === 1_024) fill();
          await released;
          return { messages: [] };
        },
      },
    });
    const socket = await gateway.connect();
    const ids = new Set<unknown>();
    for (let id = 0; id < 1_500; id++) socket.send(history(id));
    await full;
    assert.ok([...gateway.gateway.connections.all][0]?.paused);
    release();
    while (ids.size < 1_500) ids.add((await socket.next()).id);
  });
});

describe('an unresponsive peer', () => {
  test('is closed after unanswered pings', async () => {
    await using gateway = await startTestGateway();
    const dead = await gateway.connect(SECRETS.rpc);
    const alive = await gateway.connect(SECRETS.all);
    dead.socket.pause(); // a paused client answers no ping
    using _heartbeat = startHeartbeat({ settings: gateway.settings, connections: gateway.gateway.connections, pingIntervalMs: 20 });
    const { all } = gateway.gateway.connections;
    while (all.size > 1) await once(alive.socket, 'ping');
    assert.deepEqual(
      [...all].map(({ caller }) => caller.tokenId),
      ['all'],
    );
    assert.equal((await alive.request(ping(1))).id, 1);
    dead.socket.terminate();
  });

  test('that sends requests and reads no responses is not read', async () => {
    const megabyte = 'x'.repeat(1_000_000);
    let ran = 0;
    await using gateway = await startTestGateway({
      settings: { wsMessageRateLimit: { maxMessages: 10_000, windowMs: 60_000 } },
      handlers: {
        'session.history': () => {
          ran++;
          return { messages: [{ role: 'user', content: megabyte }] };
        },
      },
    });
    const greedy = await gateway.connect();
    const otherSocket = await gateway.connect(SECRETS.rpc);
    const [connection] = gateway.gateway.connections.all;
    assert.ok(connection);
    greedy.socket.pause();
    let sentCalls = 0;
    while (!connection.paused && sentCalls < 100) {
      greedy.send(history(sentCalls++));
      await otherSocket.request(ping(sentCalls));
    }
    assert.ok(connection.paused, 'still read from after 100 MB');
    const before = ran;
    for (const end = sentCalls + 2; sentCalls < end; sentCalls++) greedy.send(history(sentCalls));
    await otherSocket.request(ping('later'));
    assert.equal(ran, before, 'no further call runs');
    assert.ok(connection.socket.bufferedAmount < 4_000_000, `${connection.socket.bufferedAmount} bytes held`);
    greedy.socket.resume();
    const ids = new Set<unknown>();
    while (ids.size < sentCalls) ids.add((await greedy.next()).id);
  });

  test('that reads too slowly is closed with 1013', async () => {
    await using gateway = await startTestGateway();
    const slow = await gateway.connect();
    const otherSocket = await gateway.connect(SECRETS.rpc);
    slow.socket.pause();
    const news = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'news', params: { text: 'x'.repeat(1_000_000) } }));
    const [connection] = gateway.gateway.connections.all;
    assert.ok(connection);
    for (let i = 0; connection.socket.readyState === WebSocket.OPEN && i < 100; i++) {
      gateway.bus.publish(subjects.notifyClient('default', 'all'), news);
      await otherSocket.request(ping(i));
    }
    assert.ok(connection.socket.readyState !== WebSocket.OPEN, 'still open after 100 MB');
    slow.socket.resume();
    assert.equal((await slow.closed).code, 1013);
  });
});
