import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';

/** It contains Node, which listens and connects here. */
const IMAGE = 'switchyard/gateway:0.1.0';
const MEMBER = { 'app.kubernetes.io/name': 'switchyard', 'app.kubernetes.io/instance': 'switchyard' };
/** A policy drops packets, so a forbidden connection is not answered. */
const CONNECT_TIMEOUT_MS = 3_000;
const PROBES = 9464;
const LISTEN = `require('node:net').createServer((socket) => socket.end()).listen(${PROBES})`;

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

  test('refuse NATS, probes, large payloads and the gateway to a pod without our labels', async () => {
    const nats = await address('nats');
    assert.equal(await connect('stranger', nats, 4222), 'refused');
    assert.equal(await connect('stranger', await address('sessions'), PROBES), 'refused');
    assert.equal(await connect('stranger', await address('registry'), 9480), 'refused');
    assert.equal(await connect('stranger', await address('gateway'), 4766), 'refused');
    assert.equal(await connect('member', nats, 4222), 'connected');
    assert.equal(await connect('member', await address('registry'), 9480), 'connected');
    assert.equal(await connect('member', await address('gateway'), 4766), 'connected');
  });

  test('refuse everything to the outside of the installation for a service', async () => {
    const stranger = await podAddress('stranger');
    const [gateway] = await namespace.pods('gateway');
    assert.equal(await connect('member', stranger, PROBES), 'connected', 'the pod does not listen');
    assert.equal(await connect(gateway?.name ?? '', stranger, PROBES), 'refused');
    assert.equal(await connect(gateway?.name ?? '', await address('nats'), 4222), 'connected');
  });

  async function startPod(name: string, labels: object): Promise<void> {
    const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    // It listens on the port of the probes, so that a refused connection is the work of a policy.
    const container = {
      name,
      image: IMAGE,
      command: ['node', '--eval', LISTEN],
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

  /** Connects from a pod: 'connected', or 'refused' if the connection is dropped or rejected. */
  function connect(pod: string, host: string, port: number): Promise<string> {
    const program = `
      const end = (text) => { process.stdout.write(text); process.exit(0); };
      const socket = require('node:net').connect({ host: '${host}', port: ${port}, timeout: ${CONNECT_TIMEOUT_MS} });
      socket.on('connect', () => end('connected')).on('timeout', () => end('refused'));
      socket.on('error', ({ code }) => end(['ECONNREFUSED', 'EHOSTUNREACH', 'EACCES'].includes(code) ? 'refused' : code));`;
    return namespace.kubectl('exec', pod, '--', 'node', '--eval', program);
  }
});
