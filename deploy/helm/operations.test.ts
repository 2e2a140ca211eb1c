import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { serviceCharts } from '../../scripts/generate/helm/services.ts';
import { readGolden } from '../../scripts/helm/read-goldens.ts';
import { CHARTS, partCharts, TESTS, UMBRELLA, valueSets, type KubernetesObject } from '../../scripts/helm/render.ts';

// How the rendered charts behave in operation: hooks, ends of pods, spread, monitoring, access.

interface PodSpec {
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  priorityClassName?: string;
  topologySpreadConstraints?: { topologyKey: string }[];
  containers: { env?: { name: string; value?: string }[]; lifecycle?: { preStop?: object } }[];
}

const HOOK = 'helm.sh/hook';
const ofKind = (objects: readonly KubernetesObject[], kind: string): KubernetesObject[] => objects.filter((object) => object.kind === kind);

function readPod(set: string, kind: string, name: string): PodSpec {
  const workload = ofKind(readGolden(set), kind).find(({ metadata }) => metadata.name === name);
  assert.ok(workload, `${set}: ${name}`);
  return (workload['spec'] as { template: { spec: PodSpec } }).template.spec;
}

test('the umbrella renders nothing itself but its notes, with the next three commands', () => {
  assert.deepEqual(readdirSync(`${CHARTS}/${UMBRELLA}/templates`), ['NOTES.txt']);
  const notes = readFileSync(`${CHARTS}/${UMBRELLA}/templates/NOTES.txt`, 'utf8');
  assert.equal([...notes.matchAll(/^\d\. /gm)].length, 3);
  for (const command of ['helm test', 'kubectl port-forward', 'kubectl get secret']) assert.ok(notes.includes(command), command);
});

test('every service chart names the oldest platform that it supports', () => {
  for (const { alias, chart } of partCharts().filter((part) => part.alias !== 'platform')) {
    const { annotations } = parse(readFileSync(`${CHARTS}/${chart}/Chart.yaml`, 'utf8')) as { annotations?: Record<string, string> };
    assert.match(annotations?.['switchyard/platform'] ?? '', /^\d+\.\d+\.\d+$/, alias);
  }
});

test('no object is a hook but the test, which has a deadline and is replaced by the next one', () => {
  for (const set of valueSets()) {
    for (const object of readGolden(set)) {
      assert.notEqual(object.kind, 'Job', `${set}: an immutable job would block an upgrade`);
      const { [HOOK]: hook, [`${HOOK}-delete-policy`]: policy } = object.metadata.annotations ?? {};
      if (hook === undefined) continue;
      assert.deepEqual([hook, policy, object.kind], ['test', 'before-hook-creation', 'Pod'], set);
      assert.ok(((object['spec'] as PodSpec).activeDeadlineSeconds ?? 0) > 0, set);
    }
  }
});

test('the grace period of a pod exceeds the drain and the shutdown of its process', () => {
  const MS = 1_000;
  const gateway = readPod('default', 'Deployment', 'switchyard-gateway');
  const drain = gateway.containers[0]?.env?.find(({ name }) => name === 'SWITCHYARD_GATEWAY__DRAIN_DELAY_MS')?.value;
  assert.ok(Number(drain) > 0, 'endpoints are updated after a pod is told to end');
  const page = readFileSync(new URL('../../docs/reference/settings.md', import.meta.url), 'utf8');
  const [, shutdown = ''] = /`daemon\.shutdownTimeoutMs`[^\n]*?\| `?(\d+)`? \|/.exec(page) ?? [];
  assert.ok(Number(shutdown) > 0, 'daemon.shutdownTimeoutMs has a default');
  for (const { name } of serviceCharts()) {
    const { terminationGracePeriodSeconds = 0 } = readPod('default', 'Deployment', `switchyard-${name}`);
    assert.ok(terminationGracePeriodSeconds * MS > Number(drain) + Number(shutdown), name);
  }
});

test('clients of one of three servers of NATS move within its grace period', () => {
  const nats = readPod('production', 'StatefulSet', 'switchyard-nats');
  assert.ok(nats.containers[0]?.lifecycle?.preStop);
  const conf = readFileSync(new URL('../nats/nats-server.conf', import.meta.url), 'utf8');
  const seconds = [...conf.matchAll(/^lame_duck_(?:duration|grace_period): "(\d+)s"/gm)].map(([, value]) => Number(value));
  assert.equal(seconds.length, 2);
  assert.ok((nats.terminationGracePeriodSeconds ?? 0) > seconds.reduce((sum, value) => sum + value, 0));
  assert.equal(nats.priorityClassName, 'bus');
});

test('replicas are spread over nodes and zones', () => {
  for (const { name } of serviceCharts()) {
    const keys = readPod('default', 'Deployment', `switchyard-${name}`).topologySpreadConstraints?.map(({ topologyKey }) => topologyKey);
    assert.deepEqual(keys, ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'], name);
  }
});

test('the gateways know which services are installed', () => {
  for (const [set, missing] of [
    ['default', []],
    ['without-optional-services', ['memory', 'scheduler']],
  ] as const) {
    const { env = [] } = readPod(set, 'Deployment', 'switchyard-gateway').containers[0] ?? {};
    const installed = env.find(({ name }) => name === 'SWITCHYARD_GATEWAY__INSTALLED_SERVICES')?.value ?? '[]';
    const expected = serviceCharts().filter(({ name }) => !(missing as readonly string[]).includes(name));
    assert.deepEqual((JSON.parse(installed) as string[]).toSorted(), expected.map(({ name }) => name as string).toSorted(), set);
  }
});

test('monitoring delivers a PodMonitor of each service, the alerts and the dashboard', () => {
  const objects = readGolden('monitoring');
  assert.deepEqual(
    ofKind(objects, 'PodMonitor')
      .map(({ metadata }) => metadata.name)
      .toSorted(),
    serviceCharts()
      .map(({ name }) => `switchyard-${name}`)
      .toSorted(),
  );
  assert.equal(ofKind(objects, 'PrometheusRule').length, 1);
  assert.ok(ofKind(objects, 'ConfigMap').some(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1'));
  for (const kind of ['PodMonitor', 'PrometheusRule']) assert.deepEqual(ofKind(readGolden('default'), kind), []);
});

test('an ingress has TLS, and a route never times a stream out', () => {
  const [ingress] = ofKind(readGolden('production'), 'Ingress');
  const { tls } = (ingress?.['spec'] ?? { tls: [] }) as { tls: object[] };
  assert.deepEqual(tls, [{ hosts: ['agents.example.com'], secretName: 'agents-tls' }]);
  const { annotations } = (ingress?.['metadata'] ?? {}) as { annotations?: object };
  assert.deepEqual(annotations, { 'haproxy-ingress.github.io/timeout-server': '1h' });
  const [route] = ofKind(readGolden('gateway-api'), 'HTTPRoute');
  const { rules } = (route?.['spec'] ?? { rules: [] }) as { rules: { timeouts: object }[] };
  assert.deepEqual(
    rules.map(({ timeouts }) => timeouts),
    [{ request: '0s' }],
  );
});

test('objects of other projects satisfy the schemas of their fields', () => {
  const kinds = new Map(
    readdirSync(`${TESTS}/schemas`).map((file) => {
      const schema = JSON.parse(readFileSync(`${TESTS}/schemas/${file}`, 'utf8')) as { properties: { kind: { const: string } } };
      return [schema.properties.kind.const, new Ajv({ strict: false }).compile(schema)];
    }),
  );
  const seen = new Set<string>();
  for (const set of valueSets()) {
    for (const object of readGolden(set)) {
      const validate = kinds.get(object.kind);
      if (validate === undefined) continue;
      // The golden leaves the groups of the alerts out.
      if (object.kind !== 'PrometheusRule')
        assert.ok(validate(object), `${set}: ${object.metadata.name}: ${JSON.stringify(validate.errors)}`);
      seen.add(object.kind);
    }
  }
  assert.deepEqual(seen, new Set(kinds.keys()));
});
