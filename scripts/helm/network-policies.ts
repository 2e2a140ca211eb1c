import { BlockList, isIPv6 } from 'node:net';
import type { KubernetesObject } from './render.ts';

// Evaluates rendered network policies as Kubernetes defines them, so that tests can ask who reaches whom without a cluster.

type Labels = Readonly<Record<string, string>>;
type Protocol = 'TCP' | 'UDP';

interface Selector {
  matchLabels?: Labels;
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { protocol: Protocol; port: number }[];
}

export interface PolicySpec {
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[] | null;
  egress?: Rule[] | null;
}

/** A pod. Its namespace is that of the installation unless it has labels of its own. */
export interface PolicyPod {
  labels: Labels;
  namespace?: Labels;
}

/** One end of a connection: a pod, or an address outside of the cluster. */
export type Endpoint = PolicyPod | { address: string };

export interface Port {
  port: number;
  protocol?: Protocol;
}

/** Returns the policies among rendered objects. */
export function readPolicies(objects: readonly KubernetesObject[]): PolicySpec[] {
  return objects.filter(({ kind }) => kind === 'NetworkPolicy').map((object) => object['spec'] as PolicySpec);
}

/** Whether the policies let a connection leave one end and arrive at the other one. */
export function canConnect(policies: readonly PolicySpec[], from: Endpoint, to: Endpoint, port: Port): boolean {
  return permitsEgress(policies, from, { peer: to, port }) && permitsIngress(policies, to, { peer: from, port });
}

/** The policies that select a pod, for one direction. Without any, the direction is open. */
export function selectPolicies(policies: readonly PolicySpec[], direction: 'Ingress' | 'Egress', pod: PolicyPod): PolicySpec[] {
  // Policies select pods of their own namespace.
  if (pod.namespace !== undefined) return [];
  return policies.filter(({ podSelector, policyTypes }) => policyTypes.includes(direction) && selects(podSelector, pod.labels));
}

interface Connection {
  /** The other end. */
  peer: Endpoint;
  port: Port;
}

function permitsEgress(policies: readonly PolicySpec[], own: Endpoint, { peer, port }: Connection): boolean {
  const selected = 'address' in own ? [] : selectPolicies(policies, 'Egress', own);
  const rules = selected.flatMap(({ egress }) => egress ?? []);
  return selected.length === 0 || rules.some(({ to, ports }) => permitsPeer(to, peer) && permitsPort(ports, port));
}

function permitsIngress(policies: readonly PolicySpec[], own: Endpoint, { peer, port }: Connection): boolean {
  const selected = 'address' in own ? [] : selectPolicies(policies, 'Ingress', own);
  const rules = selected.flatMap(({ ingress }) => ingress ?? []);
  return selected.length === 0 || rules.some(({ from, ports }) => permitsPeer(from, peer) && permitsPort(ports, port));
}

function permitsPeer(peers: readonly Peer[] | undefined, endpoint: Endpoint): boolean {
  return peers === undefined || peers.length === 0 || peers.some((peer) => matches(peer, endpoint));
}

function permitsPort(ports: Rule['ports'], { port, protocol = 'TCP' }: Port): boolean {
  return ports === undefined || ports.some((one) => one.port === port && one.protocol === protocol);
}

function matches({ ipBlock, namespaceSelector, podSelector }: Peer, endpoint: Endpoint): boolean {
  if ('address' in endpoint) return ipBlock !== undefined && contains(ipBlock, endpoint.address);
  if (ipBlock !== undefined) return false;
  const inNamespace =
    namespaceSelector === undefined ? endpoint.namespace === undefined : selects(namespaceSelector, endpoint.namespace ?? {});
  return inNamespace && (podSelector === undefined || selects(podSelector, endpoint.labels));
}

function selects({ matchLabels = {}, ...others }: Selector, labels: Labels): boolean {
  if (Object.keys(others).length > 0)
    throw new Error(`selectors other than matchLabels are not evaluated: ${Object.keys(others).join(', ')}`);
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}

function contains({ cidr, except = [] }: { cidr: string; except?: string[] }, address: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  const listed = (ranges: readonly string[]): boolean => {
    const list = new BlockList();
    for (const range of ranges) {
      const [network = '', bits] = range.split('/');
      if (isIPv6(network) === (family === 'ipv6')) list.addSubnet(network, Number(bits), family);
    }
    return list.check(address, family);
  };
  return listed([cidr]) && !listed(except);
}
