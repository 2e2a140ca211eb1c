import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { kubectl } from '../../scripts/kube/kubectl.ts';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, says, setValues, WAIT, type Namespace } from './cluster.ts';
import { startLoad } from './load.ts';

const CALLS_PER_SECOND = 200;
const ROLLED_OUT = '--timeout=120s';

// SQLite allows one replica of each other service, so only the gateways are replaced without an interruption.
describe('two gateways under load', { skip: NO_PODS, timeout: 1_200_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('upgrade');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, '--set', 'gateway.replicas=2', ...WAIT);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('an upgrade fails no call', async (t) => {
    await loadWhile(t, 'upgraded', () => upgrade({ 'gateway.environment': { RELEASE: 'second' } }));
    assert.match(await readDeployment(), /second/);
  });

  test('a rollback fails no call', async (t) => {
    await loadWhile(t, 'rolled-back', () => namespace.helm('rollback', 'switchyard', '1', ...WAIT));
    assert.doesNotMatch(await readDeployment(), /second/);
  });

  test('an evicted gateway fails no call, and the budget refuses a second eviction', async (t) => {
    await loadWhile(t, 'evicted', async () => {
      const [first, second] = await namespace.pods('gateway');
      await evict(first?.name ?? '');
      await assert.rejects(evict(second?.name ?? ''), says('disruption budget'));
      await namespace.kubectl('rollout', 'status', 'deployment/switchyard-gateway', ROLLED_OUT);
    });
  });

  test('a restarted NATS fails no call of a client that retries', async (t) => {
    await loadWhile(t, 'reconnected', async () => {
      await namespace.kubectl('delete', 'pod', 'switchyard-nats-0', '--wait=true');
      await namespace.kubectl('rollout', 'status', 'statefulset/switchyard-nats', ROLLED_OUT);
    });
  });

  test('a pod whose Secret is missing leaves the old pods serving', async (t) => {
    const old = await namespace.pods('gateway');
    await loadWhile(t, 'kept', async () => {
      const secretFiles = [{ variable: 'OPENAI_API_KEY', secret: 'missing', key: 'openai' }];
      await assert.rejects(upgrade({ 'gateway.secretFiles': secretFiles }, ['--wait', '--timeout', '15s']), says('deadline exceeded'));
      const names = new Set((await namespace.pods('gateway')).map(({ name }) => name));
      assert.deepEqual(
        old.filter(({ name }) => !names.has(name)),
        [],
      );
      await namespace.helm('rollback', 'switchyard', '1', ...WAIT);
    });
  });

  function upgrade(values: Record<string, unknown>, wait = WAIT): Promise<string> {
    return namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', ...setValues(values), ...wait);
  }

  function readDeployment(): Promise<string> {
    return namespace.kubectl('get', 'deployment', 'switchyard-gateway', '--output', 'yaml');
  }

  async function evict(name: string): Promise<void> {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: namespace.name } };
    await kubectl(['create', '--raw', `/api/v1/namespaces/${namespace.name}/pods/${name}/eviction`, '-f', '-'], JSON.stringify(eviction));
  }

  async function loadWhile(t: TestContext, name: string, work: () => Promise<unknown>): Promise<void> {
    await using load = startLoad({ ...(await namespace.access()), callsPerSecond: CALLS_PER_SECOND, name });
    await work();
    t.diagnostic(JSON.stringify(await load.end()));
  }
});
