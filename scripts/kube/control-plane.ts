import { join } from 'node:path';
import { NODE_ADDRESS, SERVICE_RANGE } from './network.ts';
import { PKI } from './certificates.ts';
import { KUBECONFIG, program, STATE } from './paths.ts';
import { awaitReady, run, startProcess } from './processes.ts';

const READY_TIMEOUT_MS = 180_000;

/** Converts `{ 'bind-address': '127.0.0.1' }` to `--bind-address=127.0.0.1`. */
export function flags(values: Readonly<Record<string, string | true>>): string[] {
  return Object.entries(values).map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`));
}

/** Runs kubectl against the cluster and returns its output. */
export function kubectl(...args: string[]): string {
  return run(program('kubectl'), ['--kubeconfig', KUBECONFIG, ...args], { inNamespace: true });
}

/** Starts etcd, the API server, the controllers and the scheduler. */
export async function startControlPlane(): Promise<void> {
  const inNamespace = { cwd: PKI, inNamespace: true };
  const etcd = startProcess('etcd', [program('etcd'), ...flags(ETCD)], inNamespace);
  await awaitReady(etcd, () => run('curl', ['-sf', 'http://127.0.0.1:2379/health'], { inNamespace: true }) !== '', READY_TIMEOUT_MS);
  const server = startProcess('kube-apiserver', [program('kube-apiserver'), ...flags(API_SERVER_FLAGS)], inNamespace);
  await awaitReady(server, () => kubectl('get', '--raw', '/readyz') === 'ok', READY_TIMEOUT_MS);
  const controllers = startProcess('kube-controller-manager', [program('kube-controller-manager'), ...flags(CONTROLLERS)], inNamespace);
  startProcess('kube-scheduler', [program('kube-scheduler'), ...flags(SCHEDULER)], inNamespace);
  await awaitReady(controllers, () => kubectl('get', 'serviceaccount', 'default') !== '', READY_TIMEOUT_MS);
}

const ETCD = {
  'data-dir': join(STATE, 'etcd'),
  'listen-client-urls': 'http://127.0.0.1:2379',
  'advertise-client-urls': 'http://127.0.0.1:2379',
  'listen-peer-urls': 'http://127.0.0.1:2380',
  'initial-advertise-peer-urls': 'http://127.0.0.1:2380',
  'initial-cluster': 'default=http://127.0.0.1:2380',
  'unsafe-no-fsync': true,
  'log-level': 'warn',
} as const;

// It listens on all addresses of the namespace, so that pods reach `kubernetes.default`.
const API_SERVER_FLAGS = {
  'etcd-servers': 'http://127.0.0.1:2379',
  'bind-address': '0.0.0.0',
  'advertise-address': NODE_ADDRESS,
  'secure-port': '6443',
  'external-hostname': '127.0.0.1',
  'service-cluster-ip-range': SERVICE_RANGE,
  'authorization-mode': 'Node,RBAC',
  'allow-privileged': true,
  'client-ca-file': 'ca.crt',
  'tls-cert-file': 'apiserver.crt',
  'tls-private-key-file': 'apiserver.key',
  'kubelet-client-certificate': 'admin.crt',
  'kubelet-client-key': 'admin.key',
  'kubelet-certificate-authority': 'ca.crt',
  'kubelet-preferred-address-types': 'InternalIP,Hostname',
  'service-account-issuer': 'https://kubernetes.default.svc',
  'service-account-key-file': 'service-account.pub',
  'service-account-signing-key-file': 'service-account.key',
  'requestheader-client-ca-file': 'front-proxy-ca.crt',
  'requestheader-allowed-names': 'front-proxy',
  'requestheader-username-headers': 'X-Remote-User',
  'requestheader-group-headers': 'X-Remote-Group',
  'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
  'proxy-client-cert-file': 'front-proxy.crt',
  'proxy-client-key-file': 'front-proxy.key',
} as const;

const CONTROLLERS = {
  kubeconfig: KUBECONFIG,
  'bind-address': '127.0.0.1',
  'leader-elect': 'false',
  'service-account-private-key-file': 'service-account.key',
  'root-ca-file': 'ca.crt',
  'use-service-account-credentials': true,
  'cluster-signing-cert-file': 'ca.crt',
  'cluster-signing-key-file': 'ca.key',
  'allocate-node-cidrs': true,
  'cluster-cidr': '10.244.0.0/16',
  'service-cluster-ip-range': SERVICE_RANGE,
} as const;

const SCHEDULER = { kubeconfig: KUBECONFIG, 'bind-address': '127.0.0.1', 'leader-elect': 'false' } as const;
