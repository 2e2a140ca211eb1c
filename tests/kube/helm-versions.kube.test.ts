import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, HELM_VERSIONS, type HelmVersion, type Namespace } from './cluster.ts';

const UMBRELLA = `${CHARTS}/switchyard`;
const OBJECTS = 'deployment,statefulset,service,pdb,networkpolicy,configmap,secret,pvc';
const INSTALLATION = 'app.kubernetes.io/instance=switchyard';

interface ManagedObject {
  kind: string;
  metadata: { name: string; uid: string; labels?: object };
  spec?: object;
  data?: object;
}

const [helm3, helm4] = HELM_VERSIONS;
assert.ok(helm3 && helm4);
for (const [first, second] of [
  [helm3, helm4],
  [helm4, helm3],
] as const)
  testTakeover(first, second);

/** Helm 4 applies on the server, so it must not conflict with what Helm 3 wrote, nor the other way round. */
function testTakeover(first: HelmVersion, second: HelmVersion): void {
  describe(
    `a release of Helm ${first.version} that Helm ${second.version} continues`,
    { skip: helm4?.skip ?? false, timeout: 300_000 },
    () => {
      let namespace: Namespace;
      before(async () => {
        namespace = await createNamespace(`helm-${first.version}-${second.version}`, first.program);
        await namespace.helm('install', 'switchyard', UMBRELLA);
        // The cluster writes the volume of a claim into its specification, which must not look like a change of Helm.
        await namespace.kubectl('wait', '--for=create', 'pvc/data-switchyard-nats-0', '--timeout=60s');
        await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=Bound', 'pvc', '--all', '--timeout=60s');
      });
      after(() => namespace[Symbol.asyncDispose]());

      test('keeps its objects and keys over an upgrade with the same values', async () => {
        const installed = await describeObjects();
        assert.ok(installed.length > 40);
        await namespace.runHelm(second.program, ['upgrade', 'switchyard', UMBRELLA, '--reuse-values']);
        assert.deepEqual(await describeObjects(), installed);
      });

      test('is changed by one version and rolled back by the other', async () => {
        const change = ['upgrade', 'switchyard', UMBRELLA, '--reuse-values', '--set-json', 'gateway.environment={"CHANGED":"yes"}'];
        await namespace.runHelm(second.program, change);
        assert.match(await readGateway(), /CHANGED/);
        await namespace.runHelm(first.program, ['rollback', 'switchyard']);
        assert.doesNotMatch(await readGateway(), /CHANGED/);
      });

      test('is uninstalled without its keys and volumes', async () => {
        await namespace.runHelm(second.program, ['uninstall', 'switchyard', '--wait']);
        const kept = (await list()).filter(({ kind }) => kind !== 'ConfigMap').map(({ kind }) => kind);
        assert.deepEqual(new Set(kept), new Set(['Secret', 'PersistentVolumeClaim']));
      });

      function readGateway(): Promise<string> {
        return namespace.kubectl('get', 'deployment', 'switchyard-gateway', '--output', 'yaml');
      }

      async function list(): Promise<ManagedObject[]> {
        const output = await namespace.kubectl('get', OBJECTS, '--selector', INSTALLATION, '--output', 'json');
        return (JSON.parse(output) as { items: ManagedObject[] }).items;
      }

      async function describeObjects(): Promise<string[]> {
        return (await list()).map(({ kind, metadata: { name, uid, labels }, spec, data }) =>
          JSON.stringify([kind, name, uid, labels, spec, data]),
        );
      }
    },
  );
}
