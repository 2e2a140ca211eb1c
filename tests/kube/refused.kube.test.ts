import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readRefusals } from '../../scripts/helm/render.ts';
import { CHARTS, createNamespace, NO_CLUSTER, says, setValues, type Namespace } from './cluster.ts';

const CREATED = 'deployments,statefulsets,secrets,pvc,services';

describe('values that are refused', { skip: NO_CLUSTER, timeout: 600_000 }, () => {
  let namespace: Namespace;
  before(async () => void (namespace = await createNamespace('refused')));
  after(() => namespace[Symbol.asyncDispose]());

  // Without values nothing is refused here: the cluster can be read, so generated keys are kept.
  for (const { chart, values, message } of readRefusals().filter((one) => Object.keys(one.values).length > 0)) {
    test(`${chart} refuses ${JSON.stringify(values)}`, async () => {
      const sets = setValues(values as Record<string, unknown>);
      await assert.rejects(namespace.helm('install', 'switchyard', `${CHARTS}/${chart}`, ...sets), says(message));
      assert.equal(await namespace.kubectl('get', CREATED, '--output', 'name'), '');
    });
  }

  test('a dry run on the server accepts the default values', async () => {
    const output = await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, '--dry-run=server');
    assert.match(output, /kind: StatefulSet/);
  });

  test('a chart that needs a newer platform is refused with both versions', async () => {
    const data = { version: '0.0.9' };
    await namespace.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'switchyard-platform' }, data });
    const installing = namespace.helm('install', 'switchyard-sessions', `${CHARTS}/switchyard-sessions`);
    await assert.rejects(installing, says('needs the platform 0.1.0 or newer, and 0.0.9 is installed'));
    assert.equal(await namespace.kubectl('get', CREATED, '--output', 'name'), '');
  });
});
