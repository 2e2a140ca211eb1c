import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';

/** The image of the gateway has a shell and nc in a test cluster. */
const IMAGE = 'switchyard/gateway:0.1.0';
const MEMBER = { 'app.kubernetes.io/name': 'switchyard', 'app.kubernetes.io/instance': 'switchyard' };
const CONNECT_SECONDS = 3;

describe('network policies', { skip: NO_PODS, timeout: 900_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('policies');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...WAIT);
    await startPod('stranger', {});
    await startPod('member', MEMBER);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('let a turn through', async () => {
    assert.match(await namespace.helm('test', 'switchyard', '--timeout', '90s'), /Phase:\s+Succeeded/);
  });

  test('refuse NATS, probes and large payloads to a pod without our labels', async () => {
    const nats = await address('nats');
    await assert.rejects(connect('stranger', nats, 4222));
    await assert.rejects(connect('stranger', await address('sessions'), 9464));
    await assert.rejects(connect('stranger', await address('registry'), 9480));
    await connect('member', nats, 4222);
  });

  test('refuse everything to the outside of the installation for a service', async () => {
    const [stranger] = [await podAddress('stranger')];
    const [gateway] = await namespace.pods('gateway');
    await assert.rejects(connect(gateway?.name ?? '', stranger, 9464));
    await connect(gateway?.name ?? '', await address('nats'), 4222);
  });

  async function startPod(name: string, labels: object): Promise<void> {
    const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    // It listens on the port of the probes, so that a refused connection is the work of a policy.
    const container = {
      name,
      image: IMAGE,
      command: ['nc', '-lk', '-p', '9464', '-e', 'cat'],
      imagePullPolicy: 'IfNotPresent',
      securityContext,
    };
    const spec = {
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
    };
    await namespace.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec });
    await namespace.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
  }

  async function address(component: string): Promise<string> {
    const [pod] = await namespace.pods(component);
    return podAddress(pod?.name ?? '');
  }

  function podAddress(name: string): Promise<string> {
    return namespace.kubectl('get', 'pod', name, '--output', 'jsonpath={.status.podIP}');
  }

  async function connect(pod: string, host: string, port: number): Promise<void> {
    await namespace.kubectl('exec', pod, '--', 'nc', '-z', '-w', String(CONNECT_SECONDS), host, String(port));
  }
});
