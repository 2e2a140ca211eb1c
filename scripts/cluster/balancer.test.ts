import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBalancer, type Balancer } from './balancer.ts';

const PROBE_MS = 10;
const HOST = '127.0.0.1';

/** A gateway for the balancer: it answers with its readiness and its name. */
interface Gateway {
  name: string;
  url: string;
  ready: boolean;
  probed: number;
  server: Server;
}

async function startGateway(t: TestContext, name: string, port = 0): Promise<Gateway> {
  const server = createServer((request, response) => {
    if (request.url === '/readyz') {
      gateway.probed++;
      response.statusCode = gateway.ready ? 200 : 503;
      response.end('{}');
    } else response.setHeader('connection', 'close').end(name);
  });
  await once(server.listen(port, HOST), 'listening');
  t.after(() => (server.closeAllConnections(), server.close()));
  const gateway: Gateway = { name, url: `http://${HOST}:${(server.address() as AddressInfo).port}`, ready: true, probed: 0, server };
  return gateway;
}

async function balance(t: TestContext, ...gateways: Gateway[]): Promise<Balancer> {
  const balancer = await openBalancer({ host: HOST, port: 0, targets: gateways.map(({ url }) => url), probeMs: PROBE_MS });
  t.after(() => balancer[Symbol.asyncDispose]());
  return balancer;
}

/** The name of the gateway that answers a new connection. */
async function sendRequest({ port }: Balancer): Promise<string> {
  const socket = connect(port, HOST);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  return (
    Buffer.concat(parts)
      .toString()
      .split('\r\n\r\n')[1]
      ?.replaceAll(/\r\n|[\da-f]+\r\n/g, '') ?? ''
  );
}

async function hold({ port }: Balancer): Promise<Socket> {
  const socket = connect(port, HOST);
  await once(socket, 'connect');
  return socket;
}

async function probedAgain(gateway: Gateway): Promise<void> {
  const enough = gateway.probed + 2;
  while (gateway.probed < enough) await sleep(PROBE_MS);
}

test('spreads connections over the ready gateways', async (t) => {
  const [a, b] = [await startGateway(t, 'a'), await startGateway(t, 'b')];
  const balancer = await balance(t, a, b);
  const held = await Promise.all([hold(balancer), hold(balancer), hold(balancer), hold(balancer)]);
  await sleep(50);
  const counts = await Promise.all(
    [a, b].map(({ server }) => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))),
  );
  assert.ok(
    counts.every((count) => Number(count) >= 2),
    String(counts),
  );
  held.forEach((socket) => socket.destroy());
});

test('sends no new connection to a gateway that is not ready', async (t) => {
  const [a, b] = [await startGateway(t, 'a'), await startGateway(t, 'b')];
  const balancer = await balance(t, a, b);
  a.ready = false;
  await probedAgain(a);
  const answers = await Promise.all(Array.from({ length: 10 }, () => sendRequest(balancer)));
  assert.deepEqual([...new Set(answers)], ['b']);
  a.ready = true;
  await probedAgain(a);
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 10 }, () => sendRequest(balancer)))), new Set(['a', 'b']));
});

test('tries another gateway when one refuses the connection before a probe noticed', async (t) => {
  const [a, b] = [await startGateway(t, 'a'), await startGateway(t, 'b')];
  const balancer = await openBalancer({ host: HOST, port: 0, targets: [a.url, b.url], probeMs: 60_000 });
  t.after(() => balancer[Symbol.asyncDispose]());
  a.server.closeAllConnections();
  a.server.close();
  assert.deepEqual([...new Set(await Promise.all(Array.from({ length: 10 }, () => sendRequest(balancer))))], ['b']);
});

test('resets a connection at once when no gateway is there, and serves the next one when a gateway returns', async (t) => {
  const a = await startGateway(t, 'a');
  const balancer = await balance(t, a);
  a.server.closeAllConnections();
  a.server.close();
  await assert.rejects(sendRequest(balancer), { code: 'ECONNRESET' });
  await startGateway(t, 'again', Number(new URL(a.url).port));
  assert.equal(await sendRequest(balancer), 'again');
});

test('close refuses new connections and keeps existing ones', async (t) => {
  const a = await startGateway(t, 'a');
  const balancer = await balance(t, a);
  const held = await hold(balancer);
  await sendRequest(balancer);
  balancer.close();
  await assert.rejects(hold(balancer), { code: 'ECONNREFUSED' });
  held.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [message] = (await once(held, 'data')) as [Buffer];
  assert.match(message.toString(), /^HTTP\/1\.1 200/);
});

test('delivers the response to a client that closed its sending side', async (t) => {
  const a = await startGateway(t, 'a');
  const balancer = await balance(t, a);
  const socket = connect({ port: balancer.port, host: HOST, allowHalfOpen: true });
  socket.end('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  assert.match(Buffer.concat(parts).toString(), /^HTTP\/1\.1 200[^]*a/);
});
