import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';

const KEYS = 'app.kubernetes.io/component=keys';

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
    for (const workload of ['statefulset/switchyard-nats', 'deployment/switchyard-gateway']) {
      await namespace.kubectl('rollout', 'restart', workload);
      await namespace.kubectl('rollout', 'status', workload, '--timeout=180s');
    }
    assert.match(await namespace.helm('test', 'switchyard', '--timeout', '90s'), /Phase:\s+Succeeded/);
  });

  async function readKeys(): Promise<string[]> {
    const list = await namespace.kubectl('get', 'secrets', '--selector', KEYS, '--output', 'json');
    return (JSON.parse(list) as { items: { metadata: { name: string }; data: object }[] }).items.map(({ metadata, data }) =>
      JSON.stringify([metadata.name, data]),
    );
  }

  function readPassword(): Promise<string> {
    return namespace.kubectl('get', 'secret', 'switchyard-keys-gateway', '--output', 'jsonpath={.data.bus-password}');
  }
});
