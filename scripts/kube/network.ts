import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { STATE } from './paths.ts';

/** Name of the network namespace in which the cluster runs. Nothing in it is reachable from outside of this machine. */
export const NAMESPACE = 'switchyard-kube';
const BRIDGE = 'cni0';
/** Address of the node, on the bridge of the pods. */
export const NODE_ADDRESS = '10.244.0.1';
export const POD_RANGE = '10.244.0.0/24';
export const FIRST_POD = '10.244.0.10';
export const SERVICE_RANGE = '10.96.0.0/16';
export const DNS_ADDRESS = '10.96.0.10';

/** Settings of the kernel that the kubelet changes for the whole machine. */
const CHANGED_SYSCTLS = ['vm.overcommit_memory', 'kernel.panic', 'kernel.panic_on_oops'];
const SAVED = join(STATE, 'sysctls.json');

function command(file: string, ...args: string[]): string {
  return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function inside(...args: string[]): string {
  return command('nsenter', `--net=/run/netns/${NAMESPACE}`, ...args);
}

/** Creates the namespace with a bridge for pods. Throws if the kernel or the user may not. */
export function createNetwork(): void {
  saveSysctls();
  if (!existsSync(`/run/netns/${NAMESPACE}`)) command('ip', 'netns', 'add', NAMESPACE);
  inside('ip', 'link', 'set', 'lo', 'up');
  inside('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  inside('ip', 'addr', 'add', `${NODE_ADDRESS}/24`, 'dev', BRIDGE);
  inside('ip', 'link', 'set', BRIDGE, 'up');
  // The API server needs a default route to find its address. It leads nowhere.
  inside('ip', 'route', 'add', 'default', 'via', NODE_ADDRESS);
  inside('sysctl', '-qw', 'net.ipv4.ip_forward=1');
}

/** Policies see the traffic between pods of one node only if the bridge passes it to the packet filter. */
export function filterBridge(): void {
  inside('sysctl', '-qw', 'net.bridge.bridge-nf-call-iptables=1');
}

export function removeNetwork(): void {
  if (existsSync(`/run/netns/${NAMESPACE}`)) command('ip', 'netns', 'del', NAMESPACE);
  restoreSysctls();
}

function saveSysctls(): void {
  writeFileSync(SAVED, JSON.stringify(Object.fromEntries(CHANGED_SYSCTLS.map((name) => [name, command('sysctl', '-n', name).trim()]))));
}

function restoreSysctls(): void {
  if (!existsSync(SAVED)) return;
  const saved = JSON.parse(readFileSync(SAVED, 'utf8')) as Record<string, string>;
  for (const [name, value] of Object.entries(saved)) command('sysctl', '-qw', `${name}=${value}`);
}
