import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, beforeEach, afterEach, describe, test } from 'node:test';
import { insideNetwork } from '../../scripts/kube/network.ts';
import { NODE_NAME } from '../../scripts/kube/certificates.ts';
import { kubectl } from '../../scripts/kube/kubectl.ts';
import { HELM, KUBECONFIG } from '../../scripts/kube/paths.ts';
import { listProcesses } from '../../scripts/kube/processes.ts';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';

const INSTALL = ['install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES];
/** Fewer than the pods of an installation. */
const FEW_PODS = '3';
const COMPONENTS = ['nats', 'gateway', 'sessions', 'registry', 'secrets'];
const SUCCEEDED = /Phase:\s+Succeeded/;

describe('obstacles of an installation', { skip: NO_PODS, timeout: 1_200_000 }, () => {
  let namespace: Namespace;
  let number = 0;
  beforeEach(async () => void (namespace = await createNamespace(`obstacles-${++number}`)));
  afterEach(() => namespace[Symbol.asyncDispose]());

  test('a killed Helm does not prevent a new installation', async () => {
    const [file = '', ...args] = insideNetwork([HELM, '--kubeconfig', KUBECONFIG, '--namespace', namespace.name, ...INSTALL, ...WAIT]);
    const helm = spawn(file, args, { stdio: 'ignore' });
    const ended = once(helm, 'exit');
    await namespace.kubectl('wait', '--for=create', 'deployment/switchyard-sessions', '--timeout=60s');
    helm.kill('SIGKILL');
    await ended;
    // The release stays pending, which Helm refuses to upgrade.
    await namespace.helm('uninstall', 'switchyard', '--wait');
    await namespace.helm(...INSTALL, ...WAIT);
    await runTurn(namespace, 'switchyard');
  });

  test('services become ready when NATS comes after them', async () => {
    await namespace.helm(...INSTALL);
    await namespace.kubectl('scale', 'statefulset/switchyard-nats', '--replicas=0');
    await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=Running', 'pod', '--selector', 'app.kubernetes.io/component=sessions');
    await namespace.kubectl('scale', 'statefulset/switchyard-nats', '--replicas=1');
    for (const name of ['gateway', 'sessions', 'registry', 'secrets'])
      await namespace.kubectl('rollout', 'status', `deployment/switchyard-${name}`, '--timeout=180s');
    await runTurn(namespace, 'switchyard');
  });

  test('a full quota stops the installation, and a repetition with more room completes it', async () => {
    const quota = (pods: string): Promise<void> =>
      namespace.apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'pods' }, spec: { hard: { pods } } });
    await quota(FEW_PODS);
    await assert.rejects(namespace.helm(...INSTALL, '--wait', '--timeout', '15s'));
    await quota('20');
    await namespace.helm('upgrade', '--install', ...INSTALL.slice(1), ...WAIT);
    await runTurn(namespace, 'switchyard');
  });
});

describe('two installations', { skip: NO_PODS, timeout: 1_200_000 }, () => {
  let [namespace, other]: Namespace[] = [];
  before(async () => {
    namespace = await createNamespace('two');
    other = await createNamespace('two-others');
    await namespace.helm(...INSTALL, ...WAIT);
  });
  after(async () => {
    await namespace?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
  });

  test('work beside each other in one namespace', async () => {
    assert.ok(namespace);
    await namespace.helm('install', 'second', `${CHARTS}/switchyard`, ...FEW_SERVICES, '--set', 'global.installation=second', ...WAIT);
    for (const release of ['switchyard', 'second']) await runTurn(namespace, release);
    await namespace.helm('uninstall', 'second', '--wait');
    await runTurn(namespace, 'switchyard');
  });

  test('work beside each other in two namespaces, under the same names', async () => {
    assert.ok(namespace && other);
    await other.helm(...INSTALL, ...WAIT);
    for (const one of [namespace, other]) await runTurn(one, 'switchyard');
    assert.notEqual((await other.access()).token, (await namespace.access()).token);
    await other.helm('uninstall', 'switchyard', '--wait');
    await runTurn(namespace, 'switchyard');
  });
});

describe('a node that is not ready', { skip: NO_PODS, timeout: 900_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('not-ready');
    await namespace.helm(...INSTALL, ...WAIT);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('may be drained of its only NATS, and keeps its pods when it is ready again', async () => {
    const pods = await Promise.all(COMPONENTS.map((name) => namespace.pods(name)));
    const kubelet = listProcesses().find(({ name }) => name === 'kubelet');
    assert.ok(kubelet);
    process.kill(kubelet.pid, 'SIGSTOP');
    try {
      await kubectl(['wait', '--for=condition=Ready=Unknown', `node/${NODE_NAME}`, '--timeout=180s']);
      await namespace.kubectl('wait', '--for=condition=Ready=False', 'pod/switchyard-nats-0', '--timeout=60s');
      await tryEviction('switchyard-nats-0');
    } finally {
      process.kill(kubelet.pid, 'SIGCONT');
    }
    await kubectl(['wait', '--for=condition=Ready', `node/${NODE_NAME}`, '--timeout=180s']);
    for (const name of COMPONENTS)
      await namespace.kubectl(
        'wait',
        '--for=condition=Ready',
        'pod',
        '--selector',
        `app.kubernetes.io/component=${name}`,
        '--timeout=180s',
      );
    assert.deepEqual(await Promise.all(COMPONENTS.map((name) => namespace.pods(name))), pods);
    await runTurn(namespace, 'switchyard');
  });

  /** Asks whether a pod may be evicted. It is not evicted, because its node cannot end it. */
  async function tryEviction(name: string): Promise<void> {
    const metadata = { name, namespace: namespace.name };
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions: { dryRun: ['All'] } };
    await kubectl(['create', '--raw', `/api/v1/namespaces/${namespace.name}/pods/${name}/eviction`, '-f', '-'], JSON.stringify(eviction));
  }
});

async function runTurn(namespace: Namespace, release: string): Promise<void> {
  assert.match(await namespace.helm('test', release, '--timeout', '90s'), SUCCEEDED);
}
