import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, setValues, WAIT, type Namespace } from './cluster.ts';
import { startLoad } from './load.ts';
import { startNodeMongo, type NodeMongo } from './mongo.ts';

/**
 * Two cores run the cluster and the stand-in of MongoDB as well. 200 calls a second and eight turns at a time saturate them, so that calls
 * wait for the database until their deadline.
 */
const LOAD = { callsPerSecond: 20, sessions: 2 };
const SERVICES = ['gateway', 'sessions', 'registry', 'secrets'];
const STORING = SERVICES.filter((name) => name !== 'gateway');
/** Long enough for the first new pods to fail. */
const SHORT_WAIT = ['--wait', '--timeout', '20s'];

// With MongoDB every service has two replicas, and each is replaced without an interruption.
describe('two replicas of each service under load', { skip: NO_PODS, timeout: 1_800_000 }, () => {
  let namespace: Namespace;
  let mongo: NodeMongo;
  before(async () => {
    [mongo, namespace] = [await startNodeMongo(), await createNamespace('replicas')];
    await mongo.createSecret(namespace, STORING);
    const values = { ...mongo.values, ...forEach((name) => [`${name}.replicas`, 2]) };
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...setValues(values), ...WAIT);
  });
  after(async () => {
    await namespace[Symbol.asyncDispose]();
    await mongo[Symbol.asyncDispose]();
  });

  for (const name of SERVICES) {
    test(`an upgrade of ${name} fails no call`, async (t) => {
      const old = await namespace.pods(name);
      await loadWhile(t, `upgraded-${name}`, () => upgrade({ [`${name}.environment`]: { RELEASE: 'second' } }));
      assert.deepEqual(findKept(old, await namespace.pods(name)), []);
    });
  }

  test('an upgrade of all services at once fails no call', async (t) => {
    await loadWhile(t, 'upgraded', () => upgrade(forEach((name) => [`${name}.environment`, { RELEASE: 'third' }])));
  });

  test('a rollback of all services at once fails no call', async (t) => {
    await loadWhile(t, 'rolled-back', () => namespace.helm('rollback', 'switchyard', '1', ...WAIT));
  });

  for (const name of SERVICES) {
    test(`a killed pod of ${name} fails no call of a client that retries`, async (t) => {
      await loadWhile(t, `killed-${name}`, async () => {
        const [pod] = await namespace.pods(name);
        await namespace.kubectl('delete', 'pod', pod?.name ?? '', '--grace-period=0', '--force');
        await namespace.kubectl('rollout', 'status', `deployment/switchyard-${name}`, '--timeout=120s');
      });
    });
  }

  test('an image that does not exist leaves the old pods serving', async (t) => {
    const old = await Promise.all(SERVICES.map((name) => namespace.pods(name)));
    await loadWhile(t, 'missing-image', async () => {
      await assert.rejects(upgrade({ 'global.image.tag': 'missing' }, SHORT_WAIT));
      for (const [index, name] of SERVICES.entries()) assert.deepEqual(findKept(old[index] ?? [], await namespace.pods(name)), old[index]);
      await namespace.helm('rollback', 'switchyard', '1', ...WAIT);
    });
  });

  function upgrade(values: Record<string, unknown>, wait = WAIT): Promise<string> {
    return namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', ...setValues(values), ...wait);
  }

  function forEach(describeService: (name: string) => [string, unknown]): Record<string, unknown> {
    return Object.fromEntries(SERVICES.map((name) => describeService(name)));
  }

  async function loadWhile(t: TestContext, name: string, work: () => Promise<unknown>): Promise<void> {
    await using load = startLoad({ ...(await namespace.access()), ...LOAD, name });
    await work();
    t.diagnostic(JSON.stringify(await load.end()));
  }
});

function findKept<T extends { uid: string }>(old: readonly T[], present: readonly T[]): T[] {
  const uids = new Set(present.map(({ uid }) => uid));
  return old.filter(({ uid }) => uids.has(uid));
}
