import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubectl } from '../../scripts/kube/kubectl.ts';
import { VOLUMES } from '../../scripts/kube/paths.ts';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';
import { retryUnavailable } from './retry.ts';

const STORING = ['sessions', 'registry', 'secrets'];
const KEYS = 'app.kubernetes.io/component=keys';
const INSTALL = ['install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES];
const SECRET = 'BACKUP_TEST';
const CHANNEL = 'kept';

interface Stored {
  metadata: { name: string; labels?: object };
  type: string;
  data: object;
}

// Follows docs/guide/kubernetes/backup.md with SQLite: the namespace is deleted with everything that is inside.
describe('an installation that is lost', { skip: NO_PODS, timeout: 1_200_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-backup-'));
  let keys: Stored[] = [];
  let restored: Namespace | undefined;

  before(async () => {
    await using lost = await createNamespace('backup');
    await lost.helm(...INSTALL, ...WAIT);
    const client = await lost.connect();
    await client.call('agent.execute', { message: 'remember this', sessionKey: { channelId: CHANNEL } });
    await client.call('env.set', { key: SECRET, value: 'sealed with the master key' });
    client.close();
    for (const name of STORING) {
      await lost.kubectl('scale', `deployment/switchyard-${name}`, '--replicas=0');
      await lost.kubectl('wait', '--for=delete', 'pod', '--selector', `app.kubernetes.io/component=${name}`, '--timeout=120s');
      const volume = await lost.kubectl('get', 'pvc', `switchyard-${name}`, '--output', 'jsonpath={.spec.volumeName}');
      copyFolder(join(VOLUMES, volume), join(folder, name));
      assert.ok(readdirSync(join(folder, name)).length > 0, name);
    }
    keys = (JSON.parse(await lost.kubectl('get', 'secret', '--selector', KEYS, '--output', 'json')) as { items: Stored[] }).items;
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await restored?.[Symbol.asyncDispose]();
  });

  test('is restored from the volumes and the keys, with an empty bus', async () => {
    const namespace = (restored = await createNamespace('restored'));
    await namespace.apply(
      ...keys.map(({ metadata: { name, labels }, type, data }) => createSecret({ metadata: { name, labels: labels ?? {} }, type, data })),
    );
    for (const name of STORING) await restoreVolume(namespace, name);
    await namespace.helm(...INSTALL, '--set', 'global.keys.existing=true', '--take-ownership', ...WAIT);
    await assertRestored(namespace);
  });

  test('works again after the loss of the volume of NATS', async () => {
    assert.ok(restored);
    await restored.kubectl('scale', 'statefulset/switchyard-nats', '--replicas=0');
    await restored.kubectl('delete', 'pvc', 'data-switchyard-nats-0', '--wait=true', '--timeout=120s');
    await restored.kubectl('scale', 'statefulset/switchyard-nats', '--replicas=1');
    await restored.kubectl('rollout', 'status', 'statefulset/switchyard-nats', '--timeout=180s');
    await restored.kubectl('rollout', 'restart', 'deployment/switchyard-provisioning');
    for (const name of ['provisioning', 'gateway', ...STORING])
      await restored.kubectl('rollout', 'status', `deployment/switchyard-${name}`, '--timeout=180s');
    await assertRestored(restored);
  });

  async function restoreVolume(namespace: Namespace, name: string): Promise<void> {
    const { items } = JSON.parse(await kubectl(['get', 'pv', '--output', 'json'])) as {
      items: { metadata: { name: string }; status: { phase: string } }[];
    };
    const volumeName = items.find(({ status }) => status.phase === 'Available')?.metadata.name ?? '';
    copyFolder(join(folder, name), join(VOLUMES, volumeName));
    const spec = { volumeName, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '8Gi' } } };
    await namespace.apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: `switchyard-${name}` }, spec });
    await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=Bound', `pvc/switchyard-${name}`, '--timeout=60s');
  }

  async function assertRestored(namespace: Namespace): Promise<void> {
    const client = await namespace.connect();
    const { messages } = await retryUnavailable(() => client.call('session.history', { channelId: CHANNEL }));
    assert.equal(messages[0]?.content, 'remember this');
    const variables = await retryUnavailable(() => client.call('env.list', {}));
    assert.ok(JSON.stringify(variables).includes(SECRET));
    client.close();
    assert.match(await namespace.helm('test', 'switchyard', '--timeout', '90s'), /Phase:\s+Succeeded/);
  }
});

/** Keeps the owners of the files, which only their user may read. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  execFileSync('cp', ['--archive', `${from}/.`, to]);
}

function createSecret(secret: Stored): object {
  return { apiVersion: 'v1', kind: 'Secret', ...secret };
}
