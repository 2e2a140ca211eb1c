import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { Agent, createServer, request, type RequestOptions } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { createLogger } from '@switchyard/telemetry';
import { createAuthority, tempDir, type Certificate } from '@switchyard/testkit';
import { WebSocket } from 'ws';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { startTlsReloader, readTlsMaterial, createTlsOptions, type TlsSettings } from './tls.ts';

const PING = '{"jsonrpc":"2.0","method":"system.ping","id":1}';
const DAY_MS = 86_400_000;

/** An authority with a server and a client certificate, and their settings. */
function setUp(directory: string, requireClientCert: boolean) {
  const { ca, caPath, issue } = createAuthority(directory);
  const server = issue('server');
  const tls: TlsSettings = { certPath: server.certPath, keyPath: server.keyPath, caPath, requireClientCert };
  return { ca, issue, server, client: issue('client'), tls };
}

type Trust = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'agent'>;

async function ping({ url }: TestGateway, trust: Trust): Promise<{ status: number | undefined; body: string }> {
  const headers = { authorization: `Bearer ${SECRETS.rpc}`, 'content-type': 'application/json' };
  const pingRequest = request(`${url}/rpc`, { method: 'POST', headers, agent: false, ...trust }).end(PING);
  const [response] = await once(pingRequest, 'response');
  return { status: response.statusCode, body: await text(response) };
}

const keyPair = ({ cert, key }: Certificate) => ({ cert, key });

test('serves HTTPS and WebSockets over TLS', async () => {
  await using directory = await tempDir();
  const { ca, tls } = setUp(directory.path, false);
  await using gateway = await startTestGateway({ settings: { tls } });
  assert.match(gateway.url, /^https:/);
  const { status, body } = await ping(gateway, { ca });
  assert.deepEqual([status, (JSON.parse(body) as { result: { pong: boolean } }).result.pong], [200, true]);
  await assert.rejects(ping(gateway, {}), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });

  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`, { ca, headers: { authorization: `Bearer ${SECRETS.rpc}` } });
  await once(socket, 'open');
  socket.send(PING);
  const [answer] = (await once(socket, 'message')) as [Buffer];
  assert.match(answer.toString(), /"pong":true/);
  socket.close();
});

test('refuses clients without a certificate of the authority when requireClientCert is set', async () => {
  await using directory = await tempDir();
  const { ca, client, tls } = setUp(directory.path, true);
  const untrusted = createAuthority(directory.path, 'other').issue('stranger');
  await using gateway = await startTestGateway({ settings: { tls } });
  assert.equal((await ping(gateway, { ca, ...keyPair(client) })).status, 200);
  await assert.rejects(ping(gateway, { ca }));
  await assert.rejects(ping(gateway, { ca, ...keyPair(untrusted) }));
});

test('refuses TLS below 1.2 and clear text', async () => {
  await using directory = await tempDir();
  const { ca, tls } = setUp(directory.path, false);
  await using gateway = await startTestGateway({ settings: { tls } });
  const port = Number(new URL(gateway.url).port);
  const old = connectTls({ host: '127.0.0.1', port, ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
  const [refused] = await once(old, 'error');
  assert.match(String(refused.code), /^E(RR_SSL|PROTO|CONNRESET)/);
  const socket = connect({ host: '127.0.0.1', port });
  socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1'))).on('error', () => undefined);
  await once(socket, 'close');
  assert.doesNotMatch(received, /HTTP\/1\.1 200/);
});

test('closes an idle TLS connection for a new one, and no connection with a running request', async () => {
  await using directory = await tempDir();
  const { ca, tls } = setUp(directory.path, false);
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const handlers = {
    'session.list': async () => {
      started.resolve();
      await released.promise;
      return { sessions: [], total: 0 };
    },
  };
  await using gateway = await startTestGateway({ settings: { tls, maxHttpConnectionsPerAddress: 2 }, handlers });
  const headers = { authorization: `Bearer ${SECRETS.all}`, 'content-type': 'application/json' };
  const body = '{"jsonrpc":"2.0","method":"session.list","id":2}';
  const busy = request(`${gateway.url}/rpc`, { method: 'POST', headers, agent: new Agent({ keepAlive: true }), ca }).end(body);
  const response = once(busy, 'response');
  await started.promise;
  for (let newcomer = 0; newcomer < 4; newcomer += 1) {
    assert.equal((await ping(gateway, { ca, agent: new Agent({ keepAlive: true }) })).status, 200);
  }
  released.resolve();
  const [completed] = await response;
  assert.match(await text(completed), /"total":0/);
});

async function getFingerprint(port: number, ca: string): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, ca });
  await once(socket, 'secureConnect');
  const { fingerprint256 }: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

test('presents renewed certificates within seconds', { timeout: 60_000 }, async () => {
  await using directory = await tempDir();
  const { ca, issue, tls } = setUp(directory.path, false);
  const renewed = Promise.withResolvers<void>();
  const write = (line: string): void => void (line.includes('reloaded the TLS certificates') && renewed.resolve());
  await using gateway = await startTestGateway({ settings: { tls }, log: createLogger({ destination: { write } }) });
  const port = Number(new URL(gateway.url).port);
  const before = await getFingerprint(port, ca);
  issue('server');
  await renewed.promise;
  assert.notEqual(await getFingerprint(port, ca), before);
  assert.equal((await ping(gateway, { ca })).status, 200);
});

test('logs unusable files once and keeps the previous certificates', async () => {
  await using directory = await tempDir();
  const { ca, tls } = setUp(directory.path, false);
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  const first = await readTlsMaterial(tls);
  const server = createServer(createTlsOptions(first, false)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const before = await getFingerprint(port, ca);
  using reloader = startTlsReloader({ server, tls, first, log });
  await reloader.poll();
  await rename(tls.certPath, join(directory.path, 'kept'));
  await reloader.poll();
  await writeFile(tls.certPath, 'no certificate');
  await reloader.poll();
  await reloader.poll();
  assert.equal(await getFingerprint(port, ca), before);
  assert.equal(lines.filter((line) => line.includes('failed to reload')).length, 2);
  await rename(join(directory.path, 'kept'), tls.certPath);
  await reloader.poll();
  assert.equal(await getFingerprint(port, ca), before);
  assert.ok(!lines.some((line) => line.includes('reloaded the')));
  server.close();
});

test('names the setting of a file that cannot be used', async () => {
  await using directory = await tempDir();
  const { tls, client } = setUp(directory.path, false);
  const textPath = join(directory.path, 'text');
  await writeFile(textPath, 'hello');
  const wrong: [Partial<TlsSettings>, RegExp][] = [
    [{ certPath: 'nowhere' }, /^gateway\.tls\.certPath: nowhere cannot be read \(ENOENT\)/],
    [{ certPath: textPath }, /^gateway\.tls\.certPath: expected a certificate in PEM in .*text/],
    [{ keyPath: textPath }, /^gateway\.tls\.keyPath: expected a private key in PEM/],
    [{ caPath: textPath }, /^gateway\.tls\.caPath: expected certificates in PEM/],
    [{ keyPath: client.keyPath }, /^gateway\.tls: the key in .* does not match the certificate/],
  ];
  for (const [change, message] of wrong) await assert.rejects(readTlsMaterial({ ...tls, ...change }), { name: 'StartError', message });
  await assert.rejects(readTlsMaterial(tls, Date.now() + 2 * DAY_MS), { message: /expired at .*renew it/ });
  await assert.rejects(readTlsMaterial(tls, Date.now() - 2 * DAY_MS), { message: /is not valid before / });
});

test('warns once a day about a certificate that expires within a week', async () => {
  await using directory = await tempDir();
  const { tls } = setUp(directory.path, false);
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  using reloader = startTlsReloader({ server: { setSecureContext: () => undefined }, tls, first: await readTlsMaterial(tls), log });
  await reloader.poll();
  await reloader.poll();
  assert.equal(lines.filter((line) => line.includes('expires soon')).length, 1);
});
