import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canConnect, readPolicies, selectPolicies, type PolicyPod, type PolicySpec } from '../../scripts/helm/network-policies.ts';
import { readGolden } from '../../scripts/helm/read-goldens.ts';
import { valueSets, type KubernetesObject } from '../../scripts/helm/render.ts';
import { serviceCharts } from '../../scripts/generate/helm/services.ts';

// Tests which pods the rendered network policies connect. tests/kube/policies.kube.test.ts tries the same with enforced policies.

interface Pod extends PolicyPod {
  name: string;
  ports: number[];
}

interface PodSpec {
  containers: { ports?: { containerPort: number }[] }[];
}

const STRANGER: Pod = { name: 'stranger', labels: {}, ports: [] };
/** A pod of an application, in a namespace of its own. */
const CLIENT: Pod = { name: 'client', labels: { 'switchyard-client': 'switchyard' }, namespace: namespaceOf('applications'), ports: [] };
const PRIVATE_IPV4 = [
  '10.0.0.1',
  '10.255.255.254',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.168.1.1',
];
const PRIVATE_IPV6 = ['::1', 'fc00::1', 'fd12:3456:789a::1', 'fe80::1'];
const PRIVATE_ADDRESSES = [...PRIVATE_IPV4, ...PRIVATE_IPV6];
const PUBLIC_ADDRESSES = ['203.0.113.7', '172.32.0.1', '2001:db8::7'];
const PORTS = [22, 53, 80, 443, 4222, 6379, 27_017];

test('every pod is selected by a policy for both directions', () => {
  for (const set of valueSets().filter((one) => one !== 'without-policies')) {
    const policies = readPolicies(readGolden(set));
    for (const pod of listPods(readGolden(set)))
      for (const direction of ['Ingress', 'Egress'] as const)
        assert.equal(selectPolicies(policies, direction, pod).length, 1, `${set}: ${pod.name}: ${direction}`);
  }
});

test('pods reach the bus, the blobs and the gateways, and nothing else of the installation', () => {
  const services = serviceCharts();
  const keeper = services.find(({ keepsBlobs }) => keepsBlobs);
  const expected = [
    ...services.map(({ name }) => `${name} to nats:4222`),
    ...services.filter((service) => service !== keeper).map(({ name }) => `${name} to ${keeper?.name}:9480`),
    'provisioning to nats:4222',
    'nats to nats:6222',
    'test-turn to gateway:4766',
    'client to gateway:4766',
  ];
  assert.deepEqual(listConnections('default', [STRANGER, CLIENT]), expected.toSorted());
});

test('a pod without our labels reaches nothing, in this namespace and in another one', () => {
  const others = [STRANGER, { ...STRANGER, name: 'neighbour', namespace: namespaceOf('others') }];
  assert.deepEqual(
    listConnections('default', others).filter((connection) => /^(stranger|neighbour) to/.test(connection)),
    [],
  );
});

test('a second installation reaches nothing of the first one', () => {
  const policies = [...readPolicies(readGolden('default')), ...readPolicies(readGolden('other-installation'))];
  const [first, second] = [listPods(readGolden('default')), listPods(readGolden('other-installation'))];
  for (const from of second) for (const to of first) for (const port of to.ports) assert.ok(!canConnect(policies, from, to, { port }));
});

test('behind an ingress everybody reaches the gateways, or those who are listed', () => {
  const controller: Pod = { ...STRANGER, name: 'controller', namespace: namespaceOf('ingress') };
  assert.ok(listConnections('production', [STRANGER]).includes('stranger to gateway:4766'));
  const listed = listConnections('clients', [STRANGER, controller, CLIENT]);
  assert.ok(!listed.includes('stranger to gateway:4766'));
  assert.ok(listed.includes('controller to gateway:4766'));
  assert.ok(listed.includes('client to gateway:4766'));
  const [policies, gateway] = [readPolicies(readGolden('clients')), findPod('clients', 'gateway')];
  assert.ok(canConnect(policies, { address: '192.0.2.9' }, gateway, { port: 4766 }));
  assert.ok(!canConnect(policies, { address: '203.0.113.7' }, gateway, { port: 4766 }));
});

test('every pod resolves names over UDP and TCP, and only in the namespace of DNS', () => {
  for (const [set, namespace] of [
    ['default', 'kube-system'],
    ['monitoring', 'openshift-dns'],
  ] as const) {
    const policies = readPolicies(readGolden(set));
    for (const pod of listPods(readGolden(set))) {
      for (const protocol of ['UDP', 'TCP'] as const) {
        const resolve = (to: PolicyPod): boolean => canConnect(policies, pod, to, { port: 53, protocol });
        assert.ok(resolve({ labels: { 'k8s-app': 'kube-dns' }, namespace: namespaceOf(namespace) }), `${set}: ${pod.name}: ${protocol}`);
        assert.ok(!resolve({ labels: { 'k8s-app': 'kube-dns' }, namespace: namespaceOf('others') }), `${set}: ${pod.name}: ${protocol}`);
      }
    }
  }
});

test('only services that call providers leave the cluster, and never to private addresses', () => {
  const outside = new Map(serviceCharts().map(({ name, outside: leaves }) => [name as string, leaves]));
  const policies = readPolicies(readGolden('default'));
  for (const pod of listPods(readGolden('default'))) {
    for (const port of PORTS) {
      const reach = (address: string): boolean => canConnect(policies, pod, { address }, { port });
      assert.deepEqual(PRIVATE_ADDRESSES.filter(reach), [], `${pod.name}: ${port}`);
      const expected = port === 443 && outside.get(pod.name) === true ? PUBLIC_ADDRESSES : [];
      assert.deepEqual(PUBLIC_ADDRESSES.filter(reach), expected, `${pod.name}: ${port}`);
    }
  }
});

test('databases and an external NATS are reached at their addresses and ports', () => {
  const policies = readPolicies(readGolden('production'));
  const sessions = findPod('production', 'sessions');
  for (const port of [27_017, 6379]) assert.ok(canConnect(policies, sessions, { address: '10.1.2.3' }, { port }));
  assert.ok(!canConnect(policies, sessions, { address: '10.1.2.3' }, { port: 22 }));
  assert.ok(!canConnect(policies, sessions, { address: '10.2.0.1' }, { port: 27_017 }));
  const external = readPolicies(readGolden('external-nats'));
  for (const name of ['sessions', 'gateway', 'provisioning'])
    assert.ok(canConnect(external, findPod('external-nats', name), { address: '10.2.0.9' }, { port: 4222 }), name);
});

test('metrics are read from the namespace of the monitoring alone', () => {
  const prometheus: Pod = { ...STRANGER, name: 'prometheus', namespace: namespaceOf('monitoring') };
  const read = listConnections('monitoring', [prometheus, CLIENT]).filter((connection) => connection.endsWith(':9464'));
  assert.deepEqual(
    read,
    serviceCharts()
      .map(({ name }) => `prometheus to ${name}:9464`)
      .toSorted(),
  );
});

test('no policy is rendered where they are disabled', () => {
  assert.deepEqual(readPolicies(readGolden('without-policies')), []);
});

function namespaceOf(name: string): Record<string, string> {
  return { 'kubernetes.io/metadata.name': name };
}

/** Every connection that the policies of a set of values permit, between its pods and others. */
function listConnections(set: string, others: readonly Pod[]): string[] {
  const objects = readGolden(set);
  const policies: PolicySpec[] = readPolicies(objects);
  const own = listPods(objects);
  return [...own, ...others]
    .flatMap((from) =>
      own.flatMap((to) =>
        to.ports.filter((port) => canConnect(policies, from, to, { port })).map((port) => `${from.name} to ${to.name}:${port}`),
      ),
    )
    .toSorted();
}

function listPods(objects: readonly KubernetesObject[]): Pod[] {
  return objects.flatMap((object) => {
    const { metadata, spec } = readPod(object);
    if (spec === undefined) return [];
    const name = metadata.labels?.['app.kubernetes.io/component'] ?? '';
    const ports = spec.containers.flatMap(({ ports: declared = [] }) => declared.map(({ containerPort }) => containerPort));
    return [{ name, labels: metadata.labels ?? {}, ports }];
  });
}

function readPod(object: KubernetesObject): { metadata: { labels?: Record<string, string> }; spec?: PodSpec } {
  if (object.kind === 'Pod') return { metadata: object.metadata, spec: object['spec'] as PodSpec };
  if (object.kind !== 'Deployment' && object.kind !== 'StatefulSet') return { metadata: {} };
  return (object['spec'] as { template: { metadata: { labels?: Record<string, string> }; spec: PodSpec } }).template;
}

function findPod(set: string, name: string): Pod {
  const pod = listPods(readGolden(set)).find((one) => one.name === name);
  assert.ok(pod, `${set}: ${name}`);
  return pod;
}
