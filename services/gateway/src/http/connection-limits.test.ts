import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const LOW_LIMITS = { maxHttpConnectionsPerAddress: 4, maxHttpConnections: 8 };

/** A socket from its own address. All of 127.0.0.0/8 is local. */
async function dial(t: TestContext, gateway: TestGateway, localAddress = '127.0.0.1'): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => undefined);
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function getLivez(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  await once(socket, 'close');
  return text.slice(0, 12);
}

function waitForClose(socket: Socket): Promise<unknown> {
  return socket.destroyed ? Promise.resolve() : once(socket, 'close');
}

test('closes the oldest idle connection of an address above its limit', async (t) => {
  await using gateway = await startTestGateway({ settings: LOW_LIMITS });
  const otherAddress = await dial(t, gateway, '127.0.0.2');
  const idle = await Promise.all(Array.from({ length: 4 }, () => dial(t, gateway)));
  const newer = await Promise.all(Array.from({ length: 3 }, () => dial(t, gateway)));
  await Promise.all(newer.map(async (socket) => assert.equal(await getLivez(socket), 'HTTP/1.1 200')));
  assert.ok(idle.filter((socket) => socket.destroyed).length >= 1);
  assert.equal(await getLivez(otherAddress), 'HTTP/1.1 200');
});

test('accepts a probe when many addresses fill the total limit', async (t) => {
  await using gateway = await startTestGateway({ settings: LOW_LIMITS });
  const first = await dial(t, gateway, '127.0.0.10');
  for (let n = 11; n < 40; n++) await dial(t, gateway, `127.0.0.${n}`);
  await waitForClose(first);
  assert.equal(await getLivez(await dial(t, gateway)), 'HTTP/1.1 200');
});

test('answers probes when WebSockets and idle sockets fill all limits', async (t) => {
  await using gateway = await startTestGateway({ settings: { ...LOW_LIMITS, maxConnections: 2 } });
  const webSockets = [await gateway.connect(), await gateway.connect(SECRETS.rpc)];
  for (let n = 0; n < 200; n++) await dial(t, gateway);
  assert.equal(await getLivez(await dial(t, gateway)), 'HTTP/1.1 200');
  for (const { request, closed } of webSockets) {
    const outcome = await Promise.race([request('{"jsonrpc":"2.0","method":"system.ping","id":1}'), closed]);
    assert.ok('result' in outcome, 'a WebSocket is not closed for an HTTP connection');
  }
});

test('refuses a new connection rather than closing one with a running request', async (t) => {
  const pending: (() => void)[] = [];
  const handlers = {
    'session.history': () =>
      new Promise<{ messages: [] }>((resolve) => {
        pending.push(() => resolve({ messages: [] }));
      }),
  };
  await using gateway = await startTestGateway({ settings: { ...LOW_LIMITS, maxHttpConnectionsPerAddress: 2 }, handlers });
  const body = '{"jsonrpc":"2.0","method":"session.history","id":1}';
  const request = `POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${SECRETS.rpc}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const busy = [await dial(t, gateway), await dial(t, gateway)];
  for (const socket of busy) socket.write(request);
  while (pending.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await waitForClose(await dial(t, gateway));
  for (const answer of pending) answer();
  for (const socket of busy) {
    assert.ok(!socket.destroyed);
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200/);
  }
  assert.equal(await getLivez(await dial(t, gateway)), 'HTTP/1.1 200', 'an idle connection is closed for a new one');
});

test('does not limit the connections of a trusted proxy', async (t) => {
  await using gateway = await startTestGateway({ settings: { ...LOW_LIMITS, trustedProxies: ['127.0.0.9'] } });
  const connections = await Promise.all(Array.from({ length: 7 }, () => dial(t, gateway, '127.0.0.9')));
  assert.equal(await getLivez(await dial(t, gateway)), 'HTTP/1.1 200');
  assert.ok(connections.every((socket) => !socket.destroyed));
});

test('closes a connection whose client sends requests and reads no response', async (t) => {
  await using gateway = await startTestGateway({ settings: { stallTimeoutMs: 200 } });
  const socket = await dial(t, gateway);
  socket.pause();
  const requests = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1_000);
  const send = (): void => void (socket.write(requests) && setImmediate(send));
  socket.on('drain', send);
  send();
  await once(socket, 'error'); // the paused socket reports the reset at its next write
});

test('closes a connection whose request arrives one byte at a time', async (t) => {
  await using gateway = await startTestGateway({ settings: { requestTimeoutMs: 500 } });
  const socket = await dial(t, gateway);
  const head = `POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${SECRETS.rpc}\r\n`;
  socket.write(`${head}content-length: 100000\r\n\r\n`);
  const bytes = setInterval(() => socket.write('['), 20);
  t.after(() => clearInterval(bytes));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.match(String(answer), /^HTTP\/1\.1 408/);
  await waitForClose(socket);
});

test('refuses a connection of a client that has too many running requests', async () => {
  const pending: (() => void)[] = [];
  const handlers = {
    'session.history': () => new Promise<{ messages: [] }>((resolve) => pending.push(() => resolve({ messages: [] }))),
  };
  await using gateway = await startTestGateway({ settings: { maxHttpConnectionsPerToken: 2 }, handlers });
  const call = (token: string, method = 'session.history'): Promise<Response> =>
    gateway.post('/rpc', JSON.stringify({ jsonrpc: '2.0', method, id: 1 }), { token });
  const calls = [call(SECRETS.rpc), call(SECRETS.rpc)];
  while (pending.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const refused = await call(SECRETS.rpc);
  assert.deepEqual([refused.status, refused.headers.get('connection')], [429, 'close']);
  assert.equal((await call(SECRETS.all, 'system.ping')).status, 200, 'another client has its own limit');
  for (const answer of pending) answer();
  await Promise.all(calls);
  assert.equal((await call(SECRETS.rpc, 'system.ping')).status, 200);
});
