import { existsSync, readFileSync } from 'node:fs';
import { compareMachineStates, readMachineState, type MachineState } from './machine-state.ts';
import { BEFORE } from './paths.ts';
import { stopCluster } from './stop-cluster.ts';

// make kube-stop: ends the cluster of `make kube`, and checks that the machine is as before.

const before = existsSync(BEFORE) ? (JSON.parse(readFileSync(BEFORE, 'utf8')) as MachineState) : undefined;
await stopCluster();
if (before === undefined) {
  console.log('no cluster runs');
} else {
  const left = compareMachineStates(before, readMachineState());
  for (const line of left) console.error(`left: ${line}`);
  console.log(left.length === 0 ? 'stopped the cluster; nothing is left' : 'stopped the cluster, which left something');
  process.exitCode = left.length === 0 ? 0 : 1;
}
