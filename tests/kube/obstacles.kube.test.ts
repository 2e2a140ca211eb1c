import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, beforeEach, afterEach, describe, test } from 'node:test';
import { insideNetwork } from '../../scripts/kube/network.ts';
import { HELM, KUBECONFIG } from '../../scripts/kube/paths.ts';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, WAIT, type Namespace } from './cluster.ts';

const INSTALL = ['install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES];
/** Fewer than the pods of an installation. */
const FEW_PODS = '3';
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
    await runTurn();
  });

  test('services become ready when NATS comes after them', async () => {
    await namespace.helm(...INSTALL);
    await namespace.kubectl('scale', 'statefulset/switchyard-nats', '--replicas=0');
    await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=Running', 'pod', '--selector', 'app.kubernetes.io/component=sessions');
    await namespace.kubectl('scale', 'statefulset/switchyard-nats', '--replicas=1');
    for (const name of ['gateway', 'sessions', 'registry', 'secrets'])
      await namespace.kubectl('rollout', 'status', `deployment/switchyard-${name}`, '--timeout=180s');
    await runTurn();
  });

  test('a full quota stops the installation, and a repetition with more room completes it', async () => {
    const quota = (pods: string): Promise<void> =>
      namespace.apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'pods' }, spec: { hard: { pods } } });
    await quota(FEW_PODS);
    await assert.rejects(namespace.helm(...INSTALL, '--wait', '--timeout', '15s'));
    await quota('20');
    await namespace.helm('upgrade', '--install', ...INSTALL.slice(1), ...WAIT);
    await runTurn();
  });

  async function runTurn(): Promise<void> {
    assert.match(await namespace.helm('test', 'switchyard', '--timeout', '90s'), SUCCEEDED);
  }
});

describe('two installations', { skip: NO_PODS, timeout: 900_000 }, () => {
  let namespace: Namespace;
  before(async () => void (namespace = await createNamespace('two')));
  after(() => namespace[Symbol.asyncDispose]());

  test('work beside each other in one namespace', async () => {
    await namespace.helm(...INSTALL, ...WAIT);
    await namespace.helm('install', 'second', `${CHARTS}/switchyard`, ...FEW_SERVICES, '--set', 'global.installation=second', ...WAIT);
    for (const release of ['switchyard', 'second']) assert.match(await namespace.helm('test', release, '--timeout', '90s'), SUCCEEDED);
    await namespace.helm('uninstall', 'second', '--wait');
    assert.match(await namespace.helm('test', 'switchyard', '--timeout', '90s'), SUCCEEDED);
  });
});
