import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { notifications, subjects } from '@switchyard/contracts';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';

const ping = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'system.ping', id });

describe('notifications', () => {
  test('heartbeats follow wsHeartbeatMs and stop at 0', async () => {
    await using gateway = await startTestGateway({ settings: { wsHeartbeatMs: 20 } });
    const sockets = await Promise.all([gateway.connect(), gateway.connect(SECRETS.rpc)]);
    for (const socket of sockets) {
      const beat = await socket.next();
      assert.equal(beat.method, 'heartbeat');
      assert.ok(!('id' in beat));
      assert.ok(Math.abs((beat.params as { ts: number }).ts - Date.now()) < 60_000);
    }
    gateway.settings.set({ wsHeartbeatMs: 0 });
    const [socket] = sockets;
    for (let message = await socket.request(ping('after')); message.id !== 'after'; message = await socket.next());
    gateway.settings.set({ wsHeartbeatMs: 10 });
    assert.equal((await socket.next()).method, 'heartbeat');
  });

  test('notifications reach every connection of their client, or all clients with scope rpc', async () => {
    await using gateway = await startTestGateway();
    const rpcSockets = await Promise.all([gateway.connect(SECRETS.rpc), gateway.connect(SECRETS.rpc)]);
    const allSocket = await gateway.connect(SECRETS.all);
    const mcp = await gateway.connect(SECRETS.mcp);
    const notify = (subject: string, text: string): void =>
      gateway.bus.publish(subject, Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notification.message', params: { text } })));
    notify(subjects.notifyClient('default', 'rpc'), 'to one');
    notify(subjects.notifyAll('default'), 'to all');
    for (const socket of rpcSockets) {
      assert.deepEqual([(await socket.next()).params, (await socket.next()).params], [{ text: 'to one' }, { text: 'to all' }]);
    }
    assert.deepEqual((await allSocket.next()).params, { text: 'to all' });
    assert.equal((await mcp.request(ping('nothing before'))).id, 'nothing before');
  });

  test('every kind of notification arrives unchanged, for one client or for all', async () => {
    await using gateway = await startTestGateway();
    const rpcSocket = await gateway.connect(SECRETS.rpc);
    const allSocket = await gateway.connect(SECRETS.all);
    const sent = Object.entries(notifications).filter(([, { from }]) => !(from as readonly string[]).includes('gateway'));
    assert.ok(sent.length >= 3);
    for (const [method, { example: params }] of sent) {
      const message = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }));
      gateway.bus.publish(subjects.notifyClient('default', 'rpc'), message);
      gateway.bus.publish(subjects.notifyAll('default'), message);
      for (const socket of [rpcSocket, rpcSocket, allSocket]) assert.deepEqual(await socket.next(), { jsonrpc: '2.0', method, params });
    }
  });

  test('requests for approval reach the clients that may resolve them, and no others', async () => {
    await using gateway = await startTestGateway();
    const admin = await gateway.connect(SECRETS.all);
    const others = await Promise.all([gateway.connect(SECRETS.rpc), gateway.connect(SECRETS.mcp)]);
    const service = gateway.bus.as({ tenant: 'default', client: 'service:sessions', scopes: ['*'] });
    const { example: requested } = notifications['approval.requested'];
    const { example: resolved } = notifications['approval.resolved'];
    service.emit('approval:requested', { ...requested, trustLevel: 'user' });
    service.emit('approval:resolved', resolved);
    assert.deepEqual(await admin.next(), { jsonrpc: '2.0', method: 'approval.requested', params: requested });
    assert.deepEqual(await admin.next(), { jsonrpc: '2.0', method: 'approval.resolved', params: resolved });
    for (const socket of others) assert.equal((await socket.request(ping('nothing before'))).id, 'nothing before');
  });

  test('notifications stay within their tenant when two tenants use the same token id', async () => {
    await using gateway = await startTestGateway({ settings: { maxConnectionsPerToken: 1 } });
    const secret = 'a-secret-of-the-same-id-elsewhere-001';
    await gateway.putToken({ id: 'rpc', tenant: 'acme & sons', secret, key: 'elsewhere.rpc' });
    const defaultSocket = await gateway.connect(SECRETS.rpc);
    const acmeSocket = await gateway.connect(secret);
    const notify = (subject: string, text: string): void =>
      gateway.bus.publish(subject, Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notification.message', params: { text } })));
    const acme = 'acme & sons';
    notify(subjects.notifyClient(acme, 'rpc'), 'to one there');
    notify(subjects.notifyAll(acme), 'to all there');
    notify(subjects.notifyClient('default', 'rpc'), 'to one here');
    notify(subjects.notifyAll('default'), 'to all here');
    await gateway.bus.flush();
    assert.deepEqual(
      [(await acmeSocket.next()).params, (await acmeSocket.next()).params],
      [{ text: 'to one there' }, { text: 'to all there' }],
    );
    assert.deepEqual(
      [(await defaultSocket.next()).params, (await defaultSocket.next()).params],
      [{ text: 'to one here' }, { text: 'to all here' }],
    );
    for (const socket of [defaultSocket, acmeSocket]) assert.equal((await socket.request(ping('nothing else'))).id, 'nothing else');
  });

  test('a finished sub-agent is reported only to its client or tenant', async () => {
    await using gateway = await startTestGateway({ settings: { maxConnectionsPerToken: 1 } });
    const secret = 'a-secret-of-the-same-id-elsewhere-002';
    await gateway.putToken({ id: 'rpc', tenant: 'acme', secret, key: 'elsewhere.rpc' });
    const sockets = { default: await gateway.connect(SECRETS.rpc), acme: await gateway.connect(secret) };
    const { example } = notifications['session.completed'];
    const notify = (subject: string, sessionKey: string): void =>
      gateway.bus.publish(
        subject,
        Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'session.completed', params: { ...example, sessionKey } })),
      );
    for (const tenant of ['default', 'acme']) {
      notify(subjects.notifyClient(tenant, 'rpc'), `${tenant} one`);
      notify(subjects.notifyAll(tenant), `${tenant} all`);
    }
    await gateway.bus.flush();
    for (const [tenant, socket] of Object.entries(sockets)) {
      const received = [await socket.next(), await socket.next()].map(({ method, params }) => [
        method,
        (params as { sessionKey: string }).sessionKey,
      ]);
      assert.deepEqual(received, [
        ['session.completed', `${tenant} one`],
        ['session.completed', `${tenant} all`],
      ]);
      assert.equal((await socket.request(ping('nothing else'))).id, 'nothing else');
    }
  });

  test('notifications never reach another tenant when ids contain dots', async () => {
    await using gateway = await startTestGateway({ settings: { maxConnectionsPerToken: 1 } });
    const [firstSecret, secondSecret] = ['a-secret-of-a-tenant-without-a-dot-001', 'a-secret-of-a-tenant-with-a-dot-in-002'];
    await gateway.putToken({ id: 'b.c', tenant: 'a', secret: firstSecret, key: 'one' });
    await gateway.putToken({ id: 'c', tenant: 'a.b', secret: secondSecret, key: 'other' });
    const sockets = [await gateway.connect(firstSecret), await gateway.connect(secondSecret)];
    for (const [tenant, client] of [
      ['a', 'b.c'],
      ['a.b', 'c'],
    ] as const)
      gateway.bus.publish(subjects.notifyClient(tenant, client), Buffer.from(JSON.stringify({ method: tenant })));
    await gateway.bus.flush();
    assert.deepEqual(await Promise.all(sockets.map(async (socket) => (await socket.next()).method)), ['a', 'a.b']);
    for (const socket of sockets) assert.equal((await socket.request(ping('nothing else'))).id, 'nothing else');
  });

  test('notifications follow the client of a token, not its id', async () => {
    await using gateway = await startTestGateway();
    const secret = 'a-secret-made-again-under-an-old-id-1';
    await gateway.putToken({ id: 'again', client: 'again.2', secret });
    const socket = await gateway.connect(secret);
    const notify = (client: string): void =>
      gateway.bus.publish(subjects.notifyClient('default', client), Buffer.from(JSON.stringify({ method: client })));
    notify('again');
    notify('again.2');
    assert.equal((await socket.next()).method, 'again.2');
  });

  test('notifications stop when the token ends, before the connection is closed', async () => {
    await using gateway = await startTestGateway();
    const secret = 'a-secret-that-will-not-live-very-long';
    await gateway.putToken({ id: 'short', secret });
    const socket = await gateway.connect(secret);
    await socket.request(ping(1));
    await gateway.removeToken('short');
    gateway.bus.publish(subjects.notifyAll('default'), Buffer.from('{"jsonrpc":"2.0","method":"secret.news"}'));
    await gateway.bus.flush();
    let received = 0;
    socket.socket.on('message', () => received++);
    socket.send(ping(2));
    assert.equal((await socket.closed).code, 4001);
    assert.equal(received, 0);
  });
});
