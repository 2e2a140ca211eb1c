import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createClient, type Client, type RpcError } from '@switchyard/client';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, setValues, WAIT, type Namespace } from './cluster.ts';
import { retryUnavailable } from './retry.ts';

const KEYS = 'app.kubernetes.io/component=keys';
const OWN_KEYS = 'switchyard-keys-secrets';
const PREVIOUS = 'previous-master-key';
const STORED = 'WEATHER_API_KEY';
/** Larger than the payloads that services send over NATS. */
const LARGE_CHARS = 90_000;
const ROLLED_OUT = '--timeout=180s';

describe('keys', { skip: NO_PODS, timeout: 900_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('secrets');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...WAIT);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('are kept over an upgrade, an uninstallation and a new installation', async () => {
    const generated = await readKeys();
    assert.ok(generated.length > 5);
    await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', ...WAIT);
    assert.deepEqual(await readKeys(), generated);
    await namespace.helm('uninstall', 'switchyard', '--wait');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...WAIT);
    assert.deepEqual(await readKeys(), generated);
  });

  test('of a user of NATS are rotated as the page says', async () => {
    const old = await readPassword();
    await namespace.kubectl('delete', 'secret', 'switchyard-keys-gateway');
    await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values');
    assert.notEqual(await readPassword(), old);
    await restart('statefulset/switchyard-nats', 'deployment/switchyard-gateway');
    assert.match(await namespace.helm('test', 'switchyard', '--timeout', '90s'), /Phase:\s+Succeeded/);
  });

  test('the token of the operator is replaced, and the old one is refused', async () => {
    const { url, token } = await namespace.access();
    await patchKey(OWN_KEYS, 'token', createKey());
    await restart('deployment/switchyard-secrets');
    await callGateway((client) => client.call('session.list', { limit: 1 }));
    const old = createClient({ url, token });
    await assert.rejects(
      retryUnavailable(() => old.call('session.list', { limit: 1 })),
      ({ data }: RpcError) => data.code === 'UNAUTHENTICATED',
    );
    old.close();
  });

  test('the master key is replaced, and stored secrets stay readable', async () => {
    await callGateway((client) => client.call('env.set', { key: STORED, value: 'stored before' }));
    await namespace.kubectl('create', 'secret', 'generic', PREVIOUS, `--from-literal=key=${await readKey(OWN_KEYS, 'master-key')}`);
    await setSecretFiles([{ variable: 'SECRETS_MASTER_KEY_PREVIOUS', secret: PREVIOUS, key: 'key' }]);
    await patchKey(OWN_KEYS, 'master-key', createKey());
    await restart('deployment/switchyard-secrets');
    await setSecretFiles([]);
    await namespace.kubectl('delete', 'secret', PREVIOUS);
    // Without the previous key, the service starts only if its data is encrypted with the new one.
    await restart('deployment/switchyard-secrets');
    const { secrets } = await callGateway((client) => client.call('env.list', { filter: STORED }));
    assert.deepEqual(
      secrets.map(({ name, source }) => [name, source]),
      [[STORED, 'encrypted']],
    );
  });

  test('the token of the blob store is replaced, and large payloads pass', async () => {
    const token = createKey();
    for (const name of await listKeySecrets()) if ((await readKey(name, 'blob-token')) !== '') await patchKey(name, 'blob-token', token);
    const deployments = await namespace.kubectl('get', 'deployments', '--output', 'name');
    await restart(...deployments.trim().split('\n'));
    const message = `${'x'.repeat(LARGE_CHARS)} end`;
    const { response } = await callGateway((client) =>
      client.call('agent.execute', { message, sessionKey: { channelId: 'large' } }, { idempotencyKey: 'large' }),
    );
    assert.match(response, / end$/);
  });

  function createKey(): string {
    return randomBytes(32).toString('hex');
  }

  async function callGateway<T>(call: (client: Client) => Promise<T>): Promise<T> {
    const client = await namespace.connect();
    try {
      return await retryUnavailable(() => call(client));
    } finally {
      client.close();
    }
  }

  async function restart(...workloads: string[]): Promise<void> {
    for (const workload of workloads) await namespace.kubectl('rollout', 'restart', workload);
    for (const workload of workloads) await namespace.kubectl('rollout', 'status', workload, ROLLED_OUT);
  }

  async function setSecretFiles(files: readonly object[]): Promise<void> {
    const values = setValues({ 'secrets.secretFiles': files });
    await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', ...values, ...WAIT);
  }

  async function patchKey(secret: string, key: string, value: string): Promise<void> {
    await namespace.kubectl('patch', 'secret', secret, '--type', 'merge', '--patch', JSON.stringify({ stringData: { [key]: value } }));
  }

  async function listKeySecrets(): Promise<string[]> {
    const names = await namespace.kubectl('get', 'secrets', '--selector', KEYS, '--output', 'name');
    return names
      .trim()
      .split('\n')
      .map((name) => name.replace(/^secret\//, ''));
  }

  /** The value of a key, or an empty text if the Secret has no such key. */
  async function readKey(secret: string, key: string): Promise<string> {
    const value = await namespace.kubectl('get', 'secret', secret, '--output', `jsonpath={.data.${key}}`);
    return Buffer.from(value, 'base64').toString('utf8');
  }

  async function readKeys(): Promise<string[]> {
    const list = await namespace.kubectl('get', 'secrets', '--selector', KEYS, '--output', 'json');
    return (JSON.parse(list) as { items: { metadata: { name: string }; data: object }[] }).items.map(({ metadata, data }) =>
      JSON.stringify([metadata.name, data]),
    );
  }

  function readPassword(): Promise<string> {
    return readKey('switchyard-keys-gateway', 'bus-password');
  }
});
