import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';
import { startLoad } from './load.ts';
import { keepObjects, stopKeepingObjects } from './ownership.ts';

const KINDS = 'deployment,service,pdb,networkpolicy,configmap';
const CALLS_PER_SECOND = 50;

interface ManagedObject {
  kind: string;
  metadata: { name: string; generation?: number; labels?: object; annotations?: object };
  data?: object;
}

describe('a service that leaves the umbrella', { skip: NO_PODS, timeout: 900_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('split');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...WAIT);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('keeps its deployment and its pods, and fails no call', async (t) => {
    const before = await identify();
    await using load = startLoad({ ...(await namespace.access()), callsPerSecond: CALLS_PER_SECOND, name: 'split' });
    await keepObjects(namespace, 'switchyard', 'gateway');
    await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', '--set', 'gateway.enabled=false', ...WAIT);
    await namespace.helm('install', 'switchyard-gateway', `${CHARTS}/switchyard-gateway`, '--take-ownership', ...FEW_SERVICES, ...WAIT);
    await stopKeepingObjects(namespace, 'switchyard-gateway');
    t.diagnostic(JSON.stringify(await load.end()));
    assert.deepEqual(await identify(), before);
  });

  test('is upgraded without a change to an object of another release', async () => {
    const others = await listOthers();
    assert.ok(others.length > 10);
    const change = ['--reuse-values', '--set-json', 'environment={"CHANGED":"yes"}'];
    await namespace.helm('upgrade', 'switchyard-gateway', `${CHARTS}/switchyard-gateway`, ...change, ...WAIT);
    assert.deepEqual(await listOthers(), others);
    assert.match(await namespace.kubectl('get', 'deployment', 'switchyard-gateway', '--output', 'yaml'), /CHANGED/);
  });

  /** The ids of the deployment and of its pods. */
  async function identify(): Promise<string[]> {
    const deployment = await namespace.kubectl('get', 'deployment', 'switchyard-gateway', '--output', 'jsonpath={.metadata.uid}');
    return [deployment, ...(await namespace.pods('gateway')).map(({ uid }) => uid)];
  }

  /** The objects of other releases without their status. */
  async function listOthers(): Promise<string[]> {
    const selector = 'app.kubernetes.io/instance=switchyard,app.kubernetes.io/component!=gateway';
    const list = await namespace.kubectl('get', `${KINDS},statefulset,secret`, '--selector', selector, '--output', 'json');
    return (JSON.parse(list) as { items: ManagedObject[] }).items.map(({ kind, metadata, data }) =>
      JSON.stringify([kind, metadata.name, metadata.generation, metadata.labels, data]),
    );
  }
});
