import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CERTIFICATE_REFUSED } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { startNatsServer, tempDir } from '@switchyard/testkit';
import { explainRefusal, readBusAccess } from '../variables/bus-access.ts';
import type { Readiness } from '../health/health-registry.ts';
import { openHost } from './host.ts';

const URL = 'nats://127.0.0.1:4222';

test('reads bus credentials from variables or files', async () => {
  await using dir = await tempDir();
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(dir.path, name), text);
    return join(dir.path, name);
  };
  const password = await file('password', 'hush\n');
  const sam = await readBusAccess(URL, { SWITCHYARD_BUS_USER: 'sam', SWITCHYARD_BUS_PASSWORD_FILE: password });
  assert.deepEqual([sam.credentials.user, sam.credentials.password], ['sam', 'hush']);
  const token = await readBusAccess(URL, { SWITCHYARD_BUS_TOKEN_FILE: password });
  assert.equal(token.credentials.token, 'hush');
  const creds = await readBusAccess(URL, { SWITCHYARD_BUS_CREDENTIALS: await file('sam.creds', 'a JWT and a seed') });
  assert.equal(creds.credentials.credentials, 'a JWT and a seed');
  const tls = await readBusAccess(URL, {
    SWITCHYARD_BUS_TLS_CA: await file('ca', 'CA'),
    SWITCHYARD_BUS_TLS_CERT: await file('cert', 'CERT'),
    SWITCHYARD_BUS_TLS_KEY: await file('key', 'KEY'),
  });
  assert.deepEqual(tls.credentials.tls, { ca: 'CA', cert: 'CERT', key: 'KEY' });
});

test('rejects conflicting credentials with a sentence that names the variables', async () => {
  const refused = async (url: string, env: Record<string, string>, message: RegExp): Promise<void> =>
    assert.rejects(readBusAccess(url, env), { name: 'StartError', message });
  await refused(URL, { SWITCHYARD_BUS_USER: 'sam' }, /^SWITCHYARD_BUS_USER and SWITCHYARD_BUS_PASSWORD must be set together/);
  await refused(URL, { SWITCHYARD_BUS_TLS_CERT: '/dev/null' }, /^SWITCHYARD_BUS_TLS_CERT and SWITCHYARD_BUS_TLS_KEY must be set together/);
  await refused(URL, { SWITCHYARD_BUS_CREDENTIALS: '/not/there' }, /^SWITCHYARD_BUS_CREDENTIALS names \/not\/there, .*ENOENT/);
  const twice = /^SWITCHYARD_BUS and SWITCHYARD_BUS_TOKEN are different credentials for the bus/;
  await refused('nats://sam:hush@127.0.0.1:4222', { SWITCHYARD_BUS_TOKEN: 'hush' }, twice);
});

test('names the certificate variables when the server requires a certificate', () => {
  const details = { reason: CERTIFICATE_REFUSED };
  const refusal = new ServiceError('UNAUTHENTICATED', 'NATS at host:4222 does not let us in without a certificate.', { details });
  const readText = (...from: string[]): string => String(explainRefusal(refusal, { url: URL, credentials: {}, from }));
  const pair = 'SWITCHYARD_BUS_TLS_CERT with SWITCHYARD_BUS_TLS_KEY';
  assert.ok(readText('SWITCHYARD_BUS_TOKEN', 'SWITCHYARD_BUS_TLS_CA').endsWith(`without a certificate. Set ${pair}.`));
  assert.ok(readText('SWITCHYARD_BUS_TOKEN', pair).endsWith(`without a certificate. Check ${pair}.`));
});

test('waits for an unreachable bus at the start and reports it in /readyz', async () => {
  const server = await startNatsServer();
  await server.kill();
  await using dir = await tempDir();
  let text = '';
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void (text += line) } });
  const env = { SWITCHYARD_DATA: dir.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_BUS: server.url, SWITCHYARD_METRICS_PORT: '0' };
  const opening = openHost({ env, log });
  while (!text.includes('connecting to the bus')) await delay(5);
  const port = /"metrics":(\d+)/.exec(text)?.[1] ?? '';
  const response = await fetch(`http://127.0.0.1:${port}/readyz`);
  const { dependencies } = (await response.json()) as Readiness;
  assert.deepEqual([response.status, dependencies['bus']?.reason], [503, 'not reached yet']);
  await server.restart();
  await using host = await opening;
  assert.equal(host.health.readiness().dependencies['bus']?.ready, true);
  await server.stop();
});

test('wrong bus credentials end the start with a sentence that names the variable and not its value', async () => {
  const server = await startNatsServer({ configuration: 'authorization { user: sam, password: "right" }' });
  await using dir = await tempDir();
  const start = (env: Record<string, string>) => openHost({ env: { SWITCHYARD_DATA: dir.path, ...env }, service: 'secrets' });
  try {
    const beside = { SWITCHYARD_BUS: server.url, SWITCHYARD_BUS_USER: 'sam', SWITCHYARD_BUS_PASSWORD: 'hush' };
    const within = { SWITCHYARD_BUS: server.url.replace('//', '//sam:hush@') };
    for (const [env, advice] of [
      [beside, /Check SWITCHYARD_BUS_USER with SWITCHYARD_BUS_PASSWORD\.$/],
      [within, /Check SWITCHYARD_BUS\.$/],
      [{ SWITCHYARD_BUS: server.url }, /Set credentials: SWITCHYARD_BUS_USER with/],
    ] as const) {
      await assert.rejects(start(env), (error: Error) => {
        assert.equal(error.name, 'StartError');
        assert.match(error.message, advice);
        assert.ok(!error.message.includes('hush'), error.message);
        return true;
      });
    }
  } finally {
    await server.stop();
  }
});
