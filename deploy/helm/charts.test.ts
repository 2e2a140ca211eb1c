import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { natsUsers } from '@switchyard/bus';
import { parse } from 'yaml';
import { serviceCharts } from '../../scripts/generate/helm/services.ts';
import { CHARTS, DEFAULT_SET, goldenPath, parseObjects, valueSets, type KubernetesObject } from '../../scripts/helm/render.ts';

// Policies of the rendered charts. `make helm-test` renders them; these tests need no Helm.

interface Container {
  name: string;
  env?: { name: string; value?: string; valueFrom?: object }[];
  resources: { requests?: object; limits?: object };
  securityContext: Record<string, unknown>;
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
}

interface PodSpec {
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext: Record<string, unknown>;
  containers: Container[];
  volumes: { name: string; secret?: { defaultMode: number }; projected?: { defaultMode: number } }[];
}

interface WorkloadSpec {
  replicas?: number;
  strategy?: { type: string; rollingUpdate?: object };
  selector: { matchLabels: Record<string, string> };
  template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
}

const goldens = valueSets().map((set) => ({ set, objects: parseObjects(readFileSync(goldenPath(set), 'utf8')) }));
const byDefault = goldens.find(({ set }) => set === DEFAULT_SET)?.objects ?? [];
const production = goldens.find(({ set }) => set === 'production')?.objects ?? [];

function workloads(objects: readonly KubernetesObject[]): { id: string; spec: WorkloadSpec }[] {
  return objects
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .map((object) => ({ id: object.metadata.name, spec: object['spec'] as WorkloadSpec }));
}

function pods(objects: readonly KubernetesObject[]): { id: string; spec: PodSpec }[] {
  const single = objects
    .filter(({ kind }) => kind === 'Pod')
    .map((object) => ({ id: object.metadata.name, spec: object['spec'] as PodSpec }));
  return [...single, ...workloads(objects).map(({ id, spec }) => ({ id, spec: spec.template.spec }))];
}

const ofKind = (objects: readonly KubernetesObject[], kind: string): KubernetesObject[] => objects.filter((object) => object.kind === kind);

test('every set of values has a golden, and every built service a deployment', () => {
  const names = new Set(workloads(byDefault).map(({ id }) => id));
  for (const { name } of serviceCharts())
    assert.ok(names.has(`switchyard-${name}`), `no deployment of ${name}: run make helm-test --write`);
  assert.ok(goldens.length >= 12);
});

test('pods satisfy the Pod Security level restricted and have a read-only root', () => {
  for (const { set, objects } of goldens) {
    for (const { id, spec } of pods(objects)) {
      const where = `${set}: ${id}`;
      assert.equal(spec.automountServiceAccountToken, false, where);
      assert.equal(spec.securityContext['runAsNonRoot'], true, where);
      assert.equal(spec.securityContext['runAsUser'], undefined, where);
      // Chromium needs user namespaces, which the default profile forbids.
      const localhost = set === 'browser-sandbox' && id === 'switchyard-browser';
      const profile = localhost ? { type: 'Localhost', localhostProfile: 'switchyard/chromium.json' } : { type: 'RuntimeDefault' };
      assert.deepEqual(spec.securityContext['seccompProfile'], profile, where);
      for (const { name, securityContext } of spec.containers) {
        const expected = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
        // Only the image of NATS names no user.
        const user = name === 'nats' && set !== 'platform-assigns-groups' ? { runAsUser: 1000 } : {};
        assert.deepEqual(securityContext, { ...user, ...expected }, where);
      }
    }
  }
});

test('secrets are files of mode 0440 and never variables', () => {
  for (const { set, objects } of goldens) {
    for (const { id, spec } of pods(objects)) {
      for (const { env = [], volumeMounts } of spec.containers) {
        for (const { name, value = '', valueFrom } of env) {
          if (/(PASSWORD|TOKEN|KEY)(_FILE)?$/.test(name)) assert.match(value, /^\/run\/keys\//, `${set}: ${id}: ${name}`);
          assert.ok(!JSON.stringify(valueFrom ?? '').includes('secret'), `${set}: ${id}: ${name}`);
        }
        assert.equal(volumeMounts.find(({ name }) => name === 'keys')?.readOnly, true, `${set}: ${id}`);
      }
      const keys = spec.volumes.find(({ name }) => name === 'keys');
      assert.equal((keys?.secret ?? keys?.projected)?.defaultMode, 0o440, `${set}: ${id}`);
    }
    assert.deepEqual(ofKind(objects, 'Secret'), [], set);
  }
});

test('with SQLite a service that stores documents has one replica, and is never run twice', () => {
  for (const { name, database } of serviceCharts()) {
    const spec = workloads(byDefault).find(({ id }) => id === `switchyard-${name}`)?.spec;
    assert.equal(spec?.strategy?.type, database ? 'Recreate' : 'RollingUpdate', name);
    assert.equal(spec?.replicas, 1, name);
  }
});

test('with MongoDB an update starts the new pod first', () => {
  for (const { id, spec } of workloads(production).filter(({ spec: { strategy } }) => strategy !== undefined)) {
    if (id === 'switchyard-provisioning') continue;
    assert.deepEqual(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }, id);
  }
});

test('every service and NATS has a disruption budget that never blocks a drain', () => {
  for (const name of [...serviceCharts().map((service) => service.name), 'nats']) {
    const budget = ofKind(byDefault, 'PodDisruptionBudget').find(({ metadata }) => metadata.name === `switchyard-${name}`);
    const { maxUnavailable, unhealthyPodEvictionPolicy } = (budget?.['spec'] ?? {}) as Record<string, unknown>;
    assert.deepEqual([maxUnavailable, unhealthyPodEvictionPolicy], [1, 'AlwaysAllow'], name);
  }
});

test('an autoscaled deployment renders no number of replicas', () => {
  const [autoscaler] = ofKind(production, 'HorizontalPodAutoscaler');
  assert.equal(autoscaler?.metadata.name, 'switchyard-gateway');
  const gateway = workloads(production).find(({ id }) => id === 'switchyard-gateway');
  assert.ok(gateway && !('replicas' in gateway.spec));
});

test('sessions are scaled by waiting turns, by an adapter or by KEDA', () => {
  const objects = (set: string): readonly KubernetesObject[] => goldens.find((golden) => golden.set === set)?.objects ?? [];
  const [autoscaler] = ofKind(objects('scale-by-waiting-turns'), 'HorizontalPodAutoscaler');
  const { metrics } = (autoscaler?.['spec'] ?? { metrics: [] }) as { metrics: { type: string; external?: object }[] };
  const external = { metric: { name: 'switchyard_turn_waiting' }, target: { type: 'AverageValue', averageValue: '5' } };
  assert.deepEqual(metrics.find(({ type }) => type === 'External')?.external, external);
  const withKeda = objects('scale-with-keda');
  assert.deepEqual(ofKind(withKeda, 'HorizontalPodAutoscaler'), [], 'KEDA creates the autoscaler');
  const [scaled] = ofKind(withKeda, 'ScaledObject');
  const { triggers } = (scaled?.['spec'] ?? { triggers: [] }) as { triggers: { type: string; metadata: Record<string, string> }[] };
  assert.equal(triggers.find(({ type }) => type === 'prometheus')?.metadata['query'], 'max(switchyard_turn_waiting)');
  const sessions = workloads(withKeda).find(({ id }) => id === 'switchyard-sessions');
  assert.ok(sessions && !('replicas' in sessions.spec));
});

test('the metric of waiting turns exists', () => {
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
  assert.ok(page.includes('`switchyard_turn_waiting`'));
});

test('every pod has a network policy for both directions', () => {
  const policies = ofKind(byDefault, 'NetworkPolicy').map(
    (policy) => policy['spec'] as { podSelector: { matchLabels: object }; policyTypes: string[] },
  );
  const selected = new Set(policies.map(({ podSelector }) => JSON.stringify(podSelector.matchLabels)));
  for (const { spec } of workloads(byDefault)) assert.ok(selected.has(JSON.stringify(spec.selector.matchLabels)));
  for (const { policyTypes } of policies) assert.deepEqual(policyTypes, ['Ingress', 'Egress']);
});

test('only services that call providers may leave the cluster, and never to private addresses', () => {
  for (const { name, outside } of serviceCharts()) {
    const policy = ofKind(byDefault, 'NetworkPolicy').find(({ metadata }) => metadata.name === `switchyard-${name}`);
    const rendered = JSON.stringify(policy);
    assert.equal(rendered.includes('"0.0.0.0/0"'), outside, name);
    if (outside) for (const range of ['10.0.0.0/8', '169.254.0.0/16', 'fc00::/7']) assert.ok(rendered.includes(range), `${name}: ${range}`);
  }
});

test('names and labels do not contain the name of a release', () => {
  for (const chart of readdirSync(CHARTS, { recursive: true, encoding: 'utf8' }).filter((file) => /templates\/.*\.(tpl|yaml)$/.test(file)))
    assert.ok(!readFileSync(`${CHARTS}/${chart}`, 'utf8').includes('.Release.Name '), chart);
});

test('NATS gets the password of every user', () => {
  const users = [...readFileSync(`${CHARTS}/switchyard-platform/files/users.conf`, 'utf8').matchAll(/user: ([a-z]+)/g)].map(
    ([, name]) => name,
  );
  assert.deepEqual(
    users,
    natsUsers().map(({ name }) => name),
  );
});

test('the schemas accept their own values.yaml and refuse an unknown key', () => {
  for (const chart of readdirSync(CHARTS).filter((name) => name.startsWith('switchyard'))) {
    const validate = new Ajv({ strict: false }).compile(
      JSON.parse(readFileSync(`${CHARTS}/${chart}/values.schema.json`, 'utf8')) as object,
    );
    const values = parse(readFileSync(`${CHARTS}/${chart}/values.yaml`, 'utf8')) as { global: object };
    assert.ok(validate(values), `${chart}: ${JSON.stringify(validate.errors)}`);
    assert.ok(!validate({ ...values, replcas: 2 }), chart);
    assert.ok(!validate({ ...values, global: { ...values.global, stroe: {} } }), chart);
  }
});
