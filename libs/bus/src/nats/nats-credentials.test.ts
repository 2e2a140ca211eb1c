import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { nkeys } from '@nats-io/nats-core';
import { silentLogger } from '@switchyard/telemetry';
import { createAuthority, startNatsServer, tempDir } from '@switchyard/testkit';
import type { Bus } from '../client/bus.ts';
import { connectBus } from '../connect-bus.ts';
import type { BusCredentials } from './bus-credentials.ts';

const log = silentLogger();
const SECRET = 'a-secret-nobody-may-read';

async function comesIn(url: string, credentials?: BusCredentials): Promise<void> {
  const bus = await connectAs(url, credentials);
  await bus.flush();
  await bus.drain();
}

function connectAs(url: string, credentials?: BusCredentials): Promise<Bus> {
  return connectBus(url, { log, service: 'secrets', ...(credentials ? { credentials } : {}) });
}

/** Asserts an immediate rejection whose message names the server and no credentials. */
async function isRefused(url: string, credentials?: BusCredentials, reason = 'BUS_REFUSED'): Promise<void> {
  await assert.rejects(connectAs(url, credentials), (error: Error & { code?: string; details?: { reason?: string } }) => {
    assert.deepEqual([error.code, error.details?.reason], ['UNAUTHENTICATED', reason], String(error));
    assert.match(error.message, /^NATS at 127\.0\.0\.1:\d+ (?:rejected the credentials|requires a client certificate)/);
    assert.ok(!error.message.includes('wrong'), error.message);
    return true;
  });
}

const at = (url: string, who: string): string => url.replace('//', `//${who}@`);

if (process.env['SWITCHYARD_TEST_NATS'] === 'off') {
  process.stdout.write('SWITCHYARD_TEST_NATS=off: credentials were not tried\n');
} else {
  describe('NATS credentials', credentials);
}

function credentials(): void {
  test('accepts a user and password in the URL or as options', async () => {
    const server = await startNatsServer({ configuration: `authorization { user: sam, password: "${SECRET}" }` });
    try {
      await comesIn(at(server.url, `sam:${SECRET}`));
      await comesIn(server.url, { user: 'sam', password: SECRET });
      await isRefused(at(server.url, 'sam:wrong'));
      await isRefused(server.url, { user: 'sam', password: 'wrong' });
      await isRefused(server.url);
    } finally {
      await server.stop();
    }
  });

  test('accepts a token in the URL or as an option', async () => {
    const server = await startNatsServer({ configuration: `authorization { token: "${SECRET}" }` });
    try {
      await comesIn(at(server.url, SECRET));
      await comesIn(server.url, { token: SECRET });
      await isRefused(server.url, { token: 'wrong' });
    } finally {
      await server.stop();
    }
  });

  test('accepts a credentials file', async () => {
    const { configuration, credentials: input, stranger } = operatorMode();
    const server = await startNatsServer({ configuration });
    try {
      await comesIn(server.url, { credentials: input });
      await isRefused(server.url, { credentials: stranger });
      await assert.rejects(connectAs(server.url, { credentials: 'wrong' }), {
        code: 'UNAUTHENTICATED',
        message: /Invalid NATS credentials file/,
      });
    } finally {
      await server.stop();
    }
  });

  test('accepts a client certificate and rejects a server with an untrusted one', async () => {
    await using dir = await tempDir();
    const tls = certificates(dir.path);
    const configuration = `tls { cert_file: "${tls.path('server.crt')}", key_file: "${tls.path('server.key')}", ca_file: "${tls.path('ca.crt')}", verify: true, min_version: "1.2" }`;
    const [server, plain] = await Promise.all([startNatsServer({ configuration }), startNatsServer()]);
    try {
      await comesIn(server.url, { tls: { ca: tls.ca, cert: tls.cert, key: tls.key } });
      await isRefused(server.url, { tls: { ca: tls.otherCa, cert: tls.cert, key: tls.key } });
      // These rejections arrive after the handshake and were once retried silently.
      await isRefused(server.url, { tls: { ca: tls.ca } }, 'BUS_CERTIFICATE');
      await isRefused(server.url, { tls: { ca: tls.ca, ...tls.stranger } }, 'BUS_CERTIFICATE');
      // A password must not be sent unencrypted to a server that claims to have no TLS.
      await isRefused(plain.url, { user: 'sam', password: SECRET, tls: { ca: tls.ca } });
    } finally {
      await Promise.all([server.stop(), plain.stop()]);
    }
  });
}

/** Configuration of a server with one operator and one account, and credentials of a valid and of an unknown user. */
function operatorMode(): { configuration: string; credentials: string; stranger: string } {
  const operator = nkeys.createOperator();
  const [account, system, other] = [nkeys.createAccount(), nkeys.createAccount(), nkeys.createAccount()];
  const operatorJwt = jwt(operator, { sub: operator.getPublicKey(), name: 'house', nats: { type: 'operator' } });
  const limits = { conn: -1, subs: -1, data: -1, payload: -1, imports: -1, exports: -1, leaf: -1, wildcards: true };
  const known = [account, system].map((one) => {
    const sub = one.getPublicKey();
    return `${sub}: ${jwt(operator, { sub, name: 'services', nats: { type: 'account', limits } })}`;
  });
  const getUser = (issuer: nkeys.KeyPair): string => {
    const user = nkeys.createUser();
    const token = jwt(issuer, { sub: user.getPublicKey(), name: 'sam', nats: { type: 'user', subs: -1, data: -1, payload: -1 } });
    const seed = new TextDecoder().decode(user.getSeed());
    return `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
  };
  return {
    configuration: `operator: ${operatorJwt}\nsystem_account: ${system.getPublicKey()}\nresolver: MEMORY\nresolver_preload: { ${known.join(', ')} }\n`,
    credentials: getUser(account),
    stranger: getUser(other),
  };
}

function jwt(issuer: nkeys.KeyPair, claims: { sub: string; name: string; nats: object }): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1_000);
  const body = { ...claims, nats: { ...claims.nats, version: 2 }, iss: issuer.getPublicKey(), iat, jti: `${claims.name}${iat}` };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(body)}`;
  return `${signed}.${Buffer.from(issuer.sign(new TextEncoder().encode(signed))).toString('base64url')}`;
}

/** Two certificate authorities. The first one signed the server and the client; the second one is not trusted. */
function certificates(directory: string) {
  const [authority, other] = [createAuthority(directory), createAuthority(directory, 'other-ca')];
  authority.issue('server');
  const { cert, key } = authority.issue('client');
  return {
    path: (name: string) => join(directory, name),
    ca: authority.ca,
    otherCa: other.ca,
    cert,
    key,
    stranger: other.issue('stranger'),
  };
}
