import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createAuthority, tempDir } from '@switchyard/testkit';
import { runCommand, TOKEN } from '../command.fixture.ts';

/** Starts a server that requires client certificates and reports their subject. Returns the directory of the files too. */
async function setUp(t: TestContext) {
  const directory = await tempDir();
  t.after(() => directory[Symbol.asyncDispose]());
  const { ca, caPath, issue } = createAuthority(directory.path);
  const { cert, key } = issue('server');
  const seen: string[] = [];
  const server: Server = createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    seen.push(String((request.socket as TLSSocket).getPeerCertificate().subject.CN));
    response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{"pong":true,"ts":1}}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const env = { SWITCHYARD_URL: `https://localhost:${port}`, SWITCHYARD_TOKEN: TOKEN, NODE_EXTRA_CA_CERTS: caPath };
  return { directory: directory.path, client: issue('alice'), env, seen };
}

test('presents the configured client certificate', { timeout: 30_000 }, async (t) => {
  const { directory, client, env, seen } = await setUp(t);
  const own = { SWITCHYARD_CLIENT_CERT: client.certPath, SWITCHYARD_CLIENT_KEY: client.keyPath };
  const { code, stdout, stderr } = await runCommand(['rpc', 'system.ping'], { cwd: directory, env: { ...env, ...own } });
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /"pong": true/);
  assert.deepEqual(seen, ['alice']);
});

test('fails without a certificate if the server requires one', { timeout: 30_000 }, async (t) => {
  const { directory, env, seen } = await setUp(t);
  const { code, stderr } = await runCommand(['rpc', 'system.ping'], { cwd: directory, env });
  assert.equal(code, 1);
  assert.match(stderr, /\S/);
  assert.deepEqual(seen, []);
});

test('rejects an invalid certificate configuration before connecting', { timeout: 30_000 }, async (t) => {
  const { directory, client, env, seen } = await setUp(t);
  const sendMessage = async (own: Record<string, string>) =>
    (await runCommand(['rpc', 'system.ping'], { cwd: directory, env: { ...env, ...own } })).stderr;
  assert.match(
    await sendMessage({ SWITCHYARD_CLIENT_CERT: client.certPath }),
    /SWITCHYARD_CLIENT_CERT is set, but SWITCHYARD_CLIENT_KEY is not/,
  );
  const missing = join(directory, 'missing.pem');
  assert.match(
    await sendMessage({ SWITCHYARD_CLIENT_CERT: missing, SWITCHYARD_CLIENT_KEY: client.keyPath }),
    /SWITCHYARD_CLIENT_CERT names .*missing\.pem, which cannot be read/,
  );
  assert.match(
    await sendMessage({ SWITCHYARD_CLIENT_CERT: client.keyPath, SWITCHYARD_CLIENT_KEY: client.keyPath }),
    /which is not a PEM certificate/,
  );
  assert.deepEqual(seen, []);
});
