import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createCertificates, pki } from '../certificates.ts';
import { flags } from '../flags.ts';
import { awaitSuccess } from '../kubectl.ts';
import { CLUSTER_NETWORK, NODE_ADDRESS, SERVICE_NETWORK } from '../network.ts';
import { KUBECONFIG, program, readMode, STATE } from '../paths.ts';
import { startProcess } from '../processes.ts';

const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEER = 'http://127.0.0.1:2380';
/** Listens on every address of the network namespace, so that pods reach it. Nothing outside of the namespace can. */
const REACHABLE = { 'bind-address': '0.0.0.0', 'advertise-address': NODE_ADDRESS, 'endpoint-reconciler-type': 'lease' };
/** Fake pods reach nothing. The advertised address must not be loopback and belongs to documentation. */
const LOOPBACK = { 'bind-address': '127.0.0.1', 'advertise-address': '192.0.2.1', 'endpoint-reconciler-type': 'none' };

/** Starts etcd, the API server, the controllers and the scheduler. Resolves when a namespace has its service account. */
export async function startControlPlane(): Promise<void> {
  createCertificates();
  startEtcd();
  startApiServer();
  await awaitSuccess(['get', '--raw', '/readyz'], 'kube-apiserver');
  const common = flags({ kubeconfig: KUBECONFIG, 'bind-address': '127.0.0.1', 'leader-elect': false });
  const controllers = flags({
    'service-account-private-key-file': pki('service-accounts', 'key'),
    'root-ca-file': pki('ca'),
    'use-service-account-credentials': true,
    'allocate-node-cidrs': true,
    'cluster-cidr': CLUSTER_NETWORK,
    'service-cluster-ip-range': SERVICE_NETWORK,
  });
  startProcess('kube-controller-manager', [program('kube-controller-manager'), ...common, ...controllers]);
  startProcess('kube-scheduler', [program('kube-scheduler'), ...common]);
  await awaitSuccess(['get', 'serviceaccount', 'default'], 'kube-controller-manager');
}

function startEtcd(): void {
  const data = join(STATE, 'etcd');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const options = flags({
    'data-dir': data,
    'log-level': 'warn',
    'listen-client-urls': ETCD,
    'advertise-client-urls': ETCD,
    'listen-peer-urls': ETCD_PEER,
    'initial-advertise-peer-urls': ETCD_PEER,
    'initial-cluster': `default=${ETCD_PEER}`,
    // The data of a test cluster need not survive the machine.
    'unsafe-no-fsync': true,
  });
  startProcess('etcd', [program('etcd'), ...options]);
}

function startApiServer(): void {
  const options = flags({
    'etcd-servers': ETCD,
    'secure-port': 6443,
    'service-cluster-ip-range': SERVICE_NETWORK,
    ...(readMode() === 'real' ? REACHABLE : LOOPBACK),
    'authorization-mode': 'Node,RBAC',
    'allow-privileged': true,
    'client-ca-file': pki('ca'),
    'tls-cert-file': pki('apiserver'),
    'tls-private-key-file': pki('apiserver', 'key'),
    'kubelet-client-certificate': pki('admin'),
    'kubelet-client-key': pki('admin', 'key'),
    'kubelet-certificate-authority': pki('ca'),
    'kubelet-preferred-address-types': 'InternalIP',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': pki('service-accounts', 'pub'),
    'service-account-signing-key-file': pki('service-accounts', 'key'),
  });
  startProcess('kube-apiserver', [program('kube-apiserver'), ...options]);
}
