import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHARTS, createNamespace, HELM_VERSIONS, setValues, type HelmVersion, type Namespace } from './cluster.ts';
import { keepObjects, stopKeepingObjects } from './ownership.ts';

const KEYS = 'app.kubernetes.io/component=keys';
const KINDS = 'deployment,service,pdb,networkpolicy,ingress,configmap';
const GATEWAY = 'app.kubernetes.io/instance=switchyard,app.kubernetes.io/component=gateway';
const OTHERS = 'app.kubernetes.io/instance=switchyard,app.kubernetes.io/component!=gateway';
/** Objects that only some installations have must move as well: an ingress, and the settings of one service. */
const VALUES = setValues({
  'gateway.ingress': { enabled: true, host: 'agents.example.com', tlsSecret: 'agents-tls' },
  'gateway.settings': { gateway: {} },
});
/** The same as the values of the gateway's own release. */
const OWN_VALUES = VALUES.map((argument) => argument.replace(/^gateway\./, ''));
const POLL_MS = 250;

interface ManagedObject {
  kind: string;
  metadata: { name: string; uid: string; labels?: object; deletionTimestamp?: string };
  spec?: object;
  data?: object;
}

// The objects of the charts need no running container: these tests also run on fake nodes.
for (const version of HELM_VERSIONS) testObjects(version);

function testObjects({ version, program, skip }: HelmVersion): void {
  describe(`objects of an installation without values by Helm ${version}`, { skip, timeout: 300_000 }, () => {
    let namespace: Namespace;
    before(async () => {
      namespace = await createNamespace(`objects-${version}`, program);
      await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...VALUES);
    });
    after(() => namespace[Symbol.asyncDispose]());

    test('every pod is admitted by the security level restricted', async () => {
      const workloads = await list('deployment,statefulset');
      assert.ok(workloads.length >= 12);
      await awaitPods(workloads.length);
    });

    test('keys are kept over an upgrade, an uninstallation and a new installation', async () => {
      const generated = await list('secret', KEYS);
      assert.ok(generated.length > 10);
      await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values');
      assert.deepEqual(describeAll(await list('secret', KEYS)), describeAll(generated));
      await namespace.helm('uninstall', 'switchyard');
      await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...VALUES);
      assert.deepEqual(describeAll(await list('secret', KEYS)), describeAll(generated));
    });

    test('a service that leaves the umbrella keeps its objects, and none is changed', async () => {
      const kinds = `${KINDS},pod`;
      await awaitPods(1, GATEWAY);
      await namespace.kubectl('wait', '--for=condition=PodScheduled', 'pod', '--selector', GATEWAY, '--timeout=60s');
      const before = await list(kinds, GATEWAY);
      await keepObjects(namespace, 'switchyard', 'gateway');
      await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', '--set', 'gateway.enabled=false');
      await namespace.helm('install', 'switchyard-gateway', `${CHARTS}/switchyard-gateway`, '--take-ownership', ...OWN_VALUES);
      await stopKeepingObjects(namespace, 'switchyard-gateway');
      const present = new Set(before.map(({ kind }) => kind));
      for (const kind of ['Pod', 'Ingress', 'ConfigMap']) assert.ok(present.has(kind), kind);
      assert.deepEqual(describeAll(await list(kinds, GATEWAY)), describeAll(before));
    });

    test('a service with a volume gives up everything but its volume', async () => {
      const sessions = 'app.kubernetes.io/instance=switchyard,app.kubernetes.io/component=sessions';
      await keepObjects(namespace, 'switchyard', 'sessions');
      await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', '--set', 'sessions.enabled=false');
      await namespace.helm('install', 'switchyard-sessions', `${CHARTS}/switchyard-sessions`, '--take-ownership');
      await stopKeepingObjects(namespace, 'switchyard-sessions');
      await namespace.helm('uninstall', 'switchyard-sessions');
      const left = await list(`${KINDS},pvc`, sessions);
      assert.deepEqual(
        left.map(({ kind }) => kind),
        ['PersistentVolumeClaim'],
      );
    });

    test('an upgrade of its release changes no object of another one', async () => {
      const [own, others] = [await list('deployment', GATEWAY), await list(`${KINDS},statefulset,secret`, OTHERS)];
      const change = ['--reuse-values', '--set-json', 'environment={"CHANGED":"yes"}'];
      await namespace.helm('upgrade', 'switchyard-gateway', `${CHARTS}/switchyard-gateway`, ...change);
      assert.notDeepEqual(describeAll(await list('deployment', GATEWAY)), describeAll(own));
      assert.deepEqual(describeAll(await list(`${KINDS},statefulset,secret`, OTHERS)), describeAll(others));
    });

    /** A controller that may not create a pod reports it as an event and tries again later. */
    async function awaitPods(count: number, selector?: string): Promise<void> {
      while ((await list('pod', selector)).length < count) {
        const refused = await namespace.kubectl('get', 'events', '--field-selector', 'reason=FailedCreate', '--output', 'name');
        assert.equal(refused, '');
        await sleep(POLL_MS);
      }
    }

    async function list(kinds: string, selector = 'app.kubernetes.io/instance=switchyard'): Promise<ManagedObject[]> {
      const output = await namespace.kubectl('get', kinds, '--selector', selector, '--output', 'json');
      // Pods of the installation before may still be ending.
      return (JSON.parse(output) as { items: ManagedObject[] }).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    }

    /** Leaves out the status, and the generation, which a change of an annotation increases. */
    function describeAll(objects: readonly ManagedObject[]): string[] {
      return objects.map(({ kind, metadata: { name, uid, labels }, spec, data }) => JSON.stringify([kind, name, uid, labels, spec, data]));
    }
  });
}
