import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { startControlPlane } from './cluster/control-plane.ts';
import { dnsObjects } from './cluster/dns.ts';
import { startFakeNodes } from './cluster/fake-nodes.ts';
import { startNode } from './cluster/node.ts';
import { addVolumes } from './cluster/volumes.ts';
import { writeImages } from './images/write-images.ts';
import { saveSysctls } from './kernel-state.ts';
import { apply, awaitSuccess } from './kubectl.ts';
import { readMachineState } from './machine-state.ts';
import { createNetwork } from './network.ts';
import { BEFORE, MODE, STATE, WRAPPERS } from './paths.ts';
import { buildPrograms } from './programs/build-programs.ts';
import { findObstacles } from './real-nodes.ts';
import { stopCluster } from './stop-cluster.ts';
import { writeWrappers } from './wrappers.ts';

// make kube: starts a Kubernetes on this machine, with real pods where the kernel allows them. It keeps running until `make kube-stop`.

/** Enough for two installations of the umbrella chart. */
const VOLUMES = 30;

const started = performance.now();
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

if (existsSync(STATE)) {
  say(`a cluster runs already; its data is in ${STATE}. Stop it with make kube-stop.`);
  process.exit(1);
}
const obstacles = findObstacles();
const mode = obstacles.length === 0 ? 'real' : 'fake';
buildPrograms(mode, say);
try {
  await startCluster();
} catch (error) {
  say(`the start failed; the logs were in ${STATE}`);
  await stopCluster();
  throw error;
}
say(`ready in ${((performance.now() - started) / 1_000).toFixed(0)} s`);
if (obstacles.length > 0)
  say(`Nodes are fake: pods are reported as ready, and no container runs.\n${obstacles.map((one) => `  ${one}`).join('\n')}`);
say(`kubectl, helm and curl of the cluster are in ${WRAPPERS}`);

async function startCluster(): Promise<void> {
  mkdirSync(STATE, { recursive: true, mode: 0o711 });
  writeFileSync(MODE, mode);
  writeFileSync(BEFORE, JSON.stringify(readMachineState()));
  if (mode === 'real') {
    saveSysctls();
    createNetwork();
  }
  writeWrappers();
  await Promise.all([startControlPlane(), mode === 'real' ? writeImages() : undefined]);
  await (mode === 'real' ? startNode() : startFakeNodes());
  await apply(dnsObjects());
  await awaitSuccess(['--namespace', 'kube-system', 'rollout', 'status', 'deployment/coredns', '--timeout=10s'], 'kube-apiserver');
  await addVolumes(VOLUMES);
}
