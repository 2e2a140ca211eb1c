import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { listen, listenEverywhere, type SecuritySettings } from './egress.fixture.ts';
import { FORBIDDEN_ANSWERS, FORBIDDEN_HOSTS } from './forbidden-addresses.fixture.ts';
import { startForwardProxy, type ForwardProxy } from './forward-proxy.ts';
import { allowPort, mapHosts } from './testing.ts';

const TIMEOUT = { timeout: 60_000 };

function startProxy({ allowHosts = [], allowedNetHosts = [] }: SecuritySettings = {}, requireCredentials = true): Promise<ForwardProxy> {
  const security = sections.security.parse({ egress: { allowHosts }, permission: { allowedNetHosts } });
  return startForwardProxy({ settings: () => security, requireCredentials });
}

function credentials({ url }: ForwardProxy): Record<string, string> {
  const { username, password } = new URL(url);
  return { 'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** Sends `GET <target>` to the proxy. */
async function get(
  proxy: ForwardProxy,
  target: string,
  headers = credentials(proxy),
): Promise<{ status: number | undefined; body: string }> {
  const { port } = new URL(proxy.url);
  const sent = request({ host: '127.0.0.1', port, path: target, headers, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

/** Sends `CONNECT <authority>`, then a request through the tunnel. Returns all bytes that were received. */
async function tunnel(proxy: ForwardProxy, authority: string, headers = credentials(proxy)): Promise<string> {
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${lines.join('')}\r\n`);
  socket.write('GET /through HTTP/1.1\r\nhost: one.example\r\nconnection: close\r\n\r\n');
  return text(socket);
}

test('forwards requests and tunnels to a public address', TIMEOUT, async () => {
  await using outside = await listen((_, response) => response.end('outside'));
  using _hosts = mapHosts({ 'one.example': { port: outside.port } });
  await using proxy = await startProxy();
  assert.deepEqual(await get(proxy, 'http://one.example/plain?a=b'), { status: 200, body: 'outside' });
  assert.match(await tunnel(proxy, 'one.example:443'), /^HTTP\/1\.1 200 Connection Established\r\n\r\nHTTP\/1\.1 200 OK[^]*outside/);
  assert.deepEqual(
    outside.requests.map(({ url }) => url),
    ['/plain?a=b', '/through'],
  );
  assert.equal(outside.requests[0]?.headers['proxy-authorization'], undefined);
});

test('refuses each forbidden address, as a host and as a DNS answer, in requests and tunnels', TIMEOUT, async () => {
  await using silent = await listenEverywhere();
  using _port = allowPort(silent.port);
  await using proxy = await startProxy();
  const ascii = FORBIDDEN_HOSTS.filter((host) => /^[\x21-\x7e]+$/.test(host));
  for (const host of ascii) {
    const { status } = await get(proxy, `http://${host}:${silent.port}/`);
    assert.ok(status === 403 || status === 400, `${host}: ${status}`);
    assert.match(await tunnel(proxy, `${host}:${silent.port}`), /^HTTP\/1\.1 40[03] /, host);
  }
  for (const address of FORBIDDEN_ANSWERS) {
    using _hosts = mapHosts({ 'answer.example': { port: silent.port, addresses: () => [address] } });
    assert.equal((await get(proxy, 'http://answer.example/')).status, 403, address);
    assert.match(await tunnel(proxy, 'answer.example:443'), /^HTTP\/1\.1 403 /, address);
  }
  assert.equal(silent.connections, 0);
});

test('checks a name again for each connection', TIMEOUT, async () => {
  await using outside = await listen((_, response) => response.end('outside'));
  await using proxy = await startProxy();
  const answers = ['93.184.215.14', '127.0.0.1'];
  using _hosts = mapHosts({ 'rebinding.example': { port: outside.port, addresses: () => [answers.shift() ?? '127.0.0.1'] } });
  assert.equal((await get(proxy, 'http://rebinding.example/')).status, 200);
  assert.equal((await get(proxy, 'http://rebinding.example/')).status, 403);
  assert.equal(outside.requests.length, 1);
});

test('requires its credentials', TIMEOUT, async () => {
  await using silent = await listenEverywhere();
  using _hosts = mapHosts({ 'one.example': { port: silent.port } });
  await using proxy = await startProxy();
  for (const headers of [{}, { 'proxy-authorization': 'Basic cHJveHk6d3Jvbmc=' }]) {
    assert.equal((await get(proxy, 'http://one.example/', headers)).status, 407);
    assert.match(await tunnel(proxy, 'one.example:443', headers), /^HTTP\/1\.1 407 /);
  }
  assert.equal(silent.connections, 0);
});

test('reaches allowed hosts only, and local ones that the operator allows', TIMEOUT, async () => {
  await using inside = await listen((_, response) => response.end('inside'));
  await using proxy = await startProxy({ allowHosts: ['localhost'], allowedNetHosts: ['localhost'] }, false);
  assert.equal((await get(proxy, `http://localhost:${inside.port}/`, {})).body, 'inside');
  assert.equal((await get(proxy, 'http://other.example/', {})).status, 403);
});

test('refuses other schemes, relative targets and malformed authorities', TIMEOUT, async () => {
  await using proxy = await startProxy({}, false);
  for (const target of ['/', 'ftp://one.example/', 'file:///etc/passwd', 'https://one.example/'])
    assert.equal((await get(proxy, target, {})).status, 400);
  for (const authority of ['one.example', 'user@one.example:443', 'one.example:99999', ':443']) {
    assert.match(await tunnel(proxy, authority, {}), /^HTTP\/1\.1 400 /, authority);
  }
});

test('answers 502 for a host that cannot be reached', TIMEOUT, async () => {
  const gone = await listen(() => undefined);
  await gone[Symbol.asyncDispose]();
  using _hosts = mapHosts({ 'gone.example': { port: gone.port } });
  await using proxy = await startProxy({}, false);
  assert.equal((await get(proxy, 'http://gone.example/', {})).status, 502);
  assert.match(await tunnel(proxy, 'gone.example:443', {}), /^HTTP\/1\.1 502 /);
});
