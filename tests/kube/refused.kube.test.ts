import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readRefusals, readValues, valueSets } from '../../scripts/helm/render.ts';
import { KUBERNETES_VERSIONS } from '../../scripts/helm/tools.ts';
import { CHARTS, createNamespace, HELM_VERSIONS, NO_CLUSTER, says, setValues, type HelmVersion, type Namespace } from './cluster.ts';

const CREATED = 'deployments,statefulsets,secrets,pvc,services';
const UMBRELLA = `${CHARTS}/switchyard`;
/** Sets of values with objects of other projects, whose kinds a cluster may lack. */
const FOREIGN_KINDS = { monitoring: 'PodMonitor', 'gateway-api': 'HTTPRoute', 'scale-with-keda': 'ScaledObject', production: 'PodMonitor' };

for (const version of HELM_VERSIONS) testRefusals(version);

function testRefusals({ version, program, skip }: HelmVersion): void {
  describe(`Helm ${version} refuses`, { skip, timeout: 600_000 }, () => {
    let namespace: Namespace;
    before(async () => void (namespace = await createNamespace(`refused-${version}`, program)));
    after(() => namespace[Symbol.asyncDispose]());

    // Without values nothing is refused here: the cluster can be read, so generated keys are kept.
    for (const { chart, values, message } of readRefusals().filter((one) => Object.keys(one.values).length > 0)) {
      test(`${JSON.stringify(values)} of ${chart}`, async () => {
        const sets = setValues(values as Record<string, unknown>);
        await assert.rejects(namespace.helm('install', 'switchyard', `${CHARTS}/${chart}`, ...sets), says(message));
        assert.equal(await namespace.kubectl('get', CREATED, '--output', 'name'), '');
      });
    }

    for (const [set, kind] of Object.entries(FOREIGN_KINDS)) {
      test(`the values ${set} without the definition of ${kind}, and creates nothing`, async () => {
        const values = setValues(readValues(set));
        await assert.rejects(namespace.helm('install', 'switchyard', UMBRELLA, ...values), says('no matches for kind'));
        assert.equal(await namespace.kubectl('get', CREATED, '--output', 'name'), '');
      });
    }

    test('a chart that needs a newer platform, and names both versions', async () => {
      const data = { version: '0.0.9' };
      await namespace.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'switchyard-platform' }, data });
      const installing = namespace.helm('install', 'switchyard-sessions', `${CHARTS}/switchyard-sessions`);
      await assert.rejects(installing, says('needs the platform 0.1.0 or newer, and 0.0.9 is installed'));
      assert.equal(await namespace.kubectl('get', CREATED, '--output', 'name'), '');
      await namespace.kubectl('delete', 'configmap', 'switchyard-platform');
    });

    test('nothing of the default values in a dry run on the server', async () => {
      const output = await namespace.helm('install', 'switchyard', UMBRELLA, '--dry-run=server');
      assert.match(output, /kind: StatefulSet/);
      assert.equal(await namespace.kubectl('get', CREATED, '--output', 'name'), '');
    });
  });
}

describe('the API server', { skip: NO_CLUSTER, timeout: 600_000 }, () => {
  let namespace: Namespace;
  before(async () => void (namespace = await createNamespace('accepted')));
  after(() => namespace[Symbol.asyncDispose]());

  for (const set of valueSets().filter((name) => !(name in FOREIGN_KINDS))) {
    test(`accepts every object of the values ${set}`, async () => {
      // Without a cluster, Helm 3 assumes a Kubernetes that is older than the charts support.
      const version = ['--kube-version', KUBERNETES_VERSIONS.at(-1) ?? ''];
      const rendered = await namespace.helm('template', 'switchyard', UMBRELLA, ...version, ...setValues(readValues(set)));
      await namespace.tryObjects(rendered);
    });
  }
});
