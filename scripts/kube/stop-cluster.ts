import { rmSync } from 'node:fs';
import { killContainers, removeControlGroups, removeMounts, restoreSysctls } from './kernel-state.ts';
import { removeNetwork } from './network.ts';
import { readMode, RUNTIME, STATE } from './paths.ts';
import { endProcesses, listProcesses } from './processes.ts';

const CONTAINERD = 'containerd';

/** Ends the cluster and removes everything that it left on the machine. Works as well if its start failed half-way. */
export async function stopCluster(): Promise<void> {
  // Pods of this machine belong to the cluster only if it has real nodes. Another kubelet may run beside fake ones.
  if (readMode() === 'real') await stopRealNode();
  await endProcesses(listProcesses());
  rmSync(RUNTIME, { recursive: true, force: true });
  rmSync(STATE, { recursive: true, force: true });
}

async function stopRealNode(): Promise<void> {
  // Without a kubelet no container is started again, and containerd still answers while containers end.
  await endProcesses(listProcesses().filter(({ name }) => name !== CONTAINERD));
  await killContainers();
  await endProcesses(listProcesses());
  // A supervisor may have started a moment before containerd ended.
  await killContainers();
  removeMounts();
  await removeControlGroups();
  removeNetwork();
  restoreSysctls();
}
