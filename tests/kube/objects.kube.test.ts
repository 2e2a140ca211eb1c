import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHARTS, createNamespace, HELM_VERSIONS, type HelmVersion, type Namespace } from './cluster.ts';

const KEYS = 'app.kubernetes.io/component=keys';
const KINDS = 'deployment,service,pdb,networkpolicy';
const GATEWAY = 'app.kubernetes.io/instance=switchyard,app.kubernetes.io/component=gateway';
const OTHERS = 'app.kubernetes.io/instance=switchyard,app.kubernetes.io/component!=gateway';
const KEEP = 'helm.sh/resource-policy';
const POLL_MS = 250;

interface ManagedObject {
  kind: string;
  metadata: { name: string; uid: string; labels?: object };
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
      await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`);
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
      await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`);
      assert.deepEqual(describeAll(await list('secret', KEYS)), describeAll(generated));
    });

    test('a service that leaves the umbrella keeps its objects, and none is changed', async () => {
      const kinds = `${KINDS},pod`;
      await awaitPods(1, GATEWAY);
      const before = await list(kinds, GATEWAY);
      await namespace.kubectl('annotate', KINDS, '--selector', GATEWAY, `${KEEP}=keep`);
      await namespace.helm('upgrade', 'switchyard', `${CHARTS}/switchyard`, '--reuse-values', '--set', 'gateway.enabled=false');
      await namespace.helm('install', 'switchyard-gateway', `${CHARTS}/switchyard-gateway`, '--take-ownership');
      await namespace.kubectl('annotate', KINDS, '--selector', GATEWAY, `${KEEP}-`);
      assert.ok(before.some(({ kind }) => kind === 'Pod'));
      assert.deepEqual(describeAll(await list(kinds, GATEWAY)), describeAll(before));
    });

    test('an upgrade of its release changes no object of another one', async () => {
      const [own, others] = [await list('deployment', GATEWAY), await list(`${KINDS},statefulset,configmap,secret`, OTHERS)];
      const change = ['--reuse-values', '--set-json', 'environment={"CHANGED":"yes"}'];
      await namespace.helm('upgrade', 'switchyard-gateway', `${CHARTS}/switchyard-gateway`, ...change);
      assert.notDeepEqual(describeAll(await list('deployment', GATEWAY)), describeAll(own));
      assert.deepEqual(describeAll(await list(`${KINDS},statefulset,configmap,secret`, OTHERS)), describeAll(others));
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
      return (JSON.parse(output) as { items: ManagedObject[] }).items;
    }

    /** Leaves out the status, and the generation, which a change of an annotation increases. */
    function describeAll(objects: readonly ManagedObject[]): string[] {
      return objects.map(({ kind, metadata: { name, uid, labels }, spec, data }) => JSON.stringify([kind, name, uid, labels, spec, data]));
    }
  });
}
