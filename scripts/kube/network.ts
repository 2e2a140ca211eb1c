import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readMode } from './paths.ts';

/** The network namespace of the cluster. Its addresses exist nowhere else, and it has no way out. */
const NAMESPACE = 'switchyard-kube';
const FILE = `/run/netns/${NAMESPACE}`;
const BRIDGE = 'cni0';

/** The address of the node, of the API server inside the namespace, and of the bridge of the pods. */
export const NODE_ADDRESS = '10.244.0.1';
/** Addresses of the pods of the node. */
export const POD_NETWORK = '10.244.0.0/24';
export const CLUSTER_NETWORK = '10.244.0.0/16';
export const SERVICE_NETWORK = '10.96.0.0/16';
/** The first address of the service network belongs to the API server. */
export const API_SERVICE_ADDRESS = '10.96.0.1';
export const DNS_ADDRESS = '10.96.0.10';
export { BRIDGE };

/**
 * Returns a command that runs inside the network namespace. `ip netns exec` is not used: it mounts a new /sys, which hides the
 * control groups. A cluster of fake nodes has no namespace and listens on loopback.
 */
export function insideNetwork(command: readonly string[]): string[] {
  if (readMode() === 'fake') return [...command];
  return ['nsenter', `--net=${FILE}`, '--', ...command];
}

/** Creates the namespace with the bridge of the pods. */
export function createNetwork(): void {
  execFileSync('ip', ['netns', 'add', NAMESPACE]);
  for (const command of [
    ['ip', 'link', 'set', 'lo', 'up'],
    ['ip', 'link', 'add', BRIDGE, 'type', 'bridge'],
    ['ip', 'addr', 'add', NODE_ADDRESS + POD_NETWORK.slice(POD_NETWORK.indexOf('/')), 'dev', BRIDGE],
    ['ip', 'link', 'set', BRIDGE, 'up'],
    // The API server and kube-proxy choose their addresses by the default route.
    ['ip', 'route', 'add', 'default', 'via', NODE_ADDRESS],
    ['sysctl', '-qw', 'net.ipv4.ip_forward=1'],
  ])
    runInside(command);
  // Without it policies do not see traffic between pods, which the bridge forwards.
  if (existsSync('/proc/sys/net/bridge/bridge-nf-call-iptables')) runInside(['sysctl', '-qw', 'net.bridge.bridge-nf-call-iptables=1']);
}

/** Removes the namespace and with it every interface, rule and route of the cluster. */
export function removeNetwork(): void {
  if (existsSync(FILE)) execFileSync('ip', ['netns', 'delete', NAMESPACE]);
}

function runInside(command: readonly string[]): void {
  const [file = '', ...args] = insideNetwork(command);
  execFileSync(file, args);
}
