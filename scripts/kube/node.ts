import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_NAME, PKI } from './certificates.ts';
import { flags, kubectl } from './control-plane.ts';
import { PAUSE_IMAGE } from './container-images.ts';
import { DNS_ADDRESS, FIRST_POD, NODE_ADDRESS, POD_RANGE } from './network.ts';
import { CONTAINERD_SOCKET, KUBECONFIG, program, PROGRAMS, SOCKETS, STATE } from './paths.ts';
import { awaitReady, run, startProcess } from './processes.ts';

const NODE = join(STATE, 'node');
const CNI = join(NODE, 'cni');
export const KUBELET = join(NODE, 'kubelet');
const READY_TIMEOUT_MS = 120_000;

/** Starts containerd and imports the image archives. */
export async function startContainerd(archives: readonly string[]): Promise<void> {
  for (const folder of [CNI, KUBELET, SOCKETS]) mkdirSync(folder, { recursive: true });
  const config = join(NODE, 'containerd.toml');
  writeFileSync(config, containerdConfig());
  writeFileSync(join(CNI, '10-bridge.conflist'), JSON.stringify(POD_NETWORK));
  const containerd = startProcess('containerd', [program('containerd'), '--config', config], { inNamespace: true, env: { PATH: searchPath() } });
  await awaitReady(containerd, () => ctr('version') !== '', READY_TIMEOUT_MS);
  for (const archive of archives) importImage(archive);
}

export function importImage(archive: string): void {
  ctr('--namespace', 'k8s.io', 'images', 'import', archive);
}

function ctr(...args: string[]): string {
  return run(program('ctr'), ['--address', CONTAINERD_SOCKET, ...args], { inNamespace: true });
}

/** Starts the kubelet and kube-proxy, and waits until the node is ready. */
export async function startNode(): Promise<void> {
  const config = join(NODE, 'kubelet.json');
  writeFileSync(config, JSON.stringify(KUBELET_CONFIG));
  const env = { PATH: searchPath() };
  const kubelet = startProcess(
    'kubelet',
    [
      program('kubelet'),
      ...flags({
        config,
        kubeconfig: KUBECONFIG,
        'hostname-override': NODE_NAME,
        'node-ip': NODE_ADDRESS,
        'root-dir': KUBELET,
        'cert-dir': KUBELET,
      }),
    ],
    { inNamespace: true, env },
  );
  startProcess('kube-proxy', [program('kube-proxy'), ...flags(PROXY)], { inNamespace: true, env });
  await awaitReady(kubelet, () => / Ready /.test(kubectl('get', 'node', NODE_NAME)), READY_TIMEOUT_MS);
}

/** The programs of this folder first, then runc, iptables and mount. */
function searchPath(): string {
  return `${PROGRAMS}:/usr/sbin:/usr/bin:/sbin:/bin`;
}

const POD_NETWORK = {
  cniVersion: '1.0.0',
  name: 'switchyard',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: POD_RANGE, rangeStart: FIRST_POD }]],
        routes: [{ dst: '0.0.0.0/0' }],
        dataDir: join(NODE, 'addresses'),
      },
    },
  ],
};

/** Without CAP_SYS_RESOURCE no process may lower its OOM score; `restrict_oom_score_adj` allows that. */
function containerdConfig(): string {
  return `version = 3
root = "${join(NODE, 'containerd')}"
state = "${SOCKETS}/containerd"
[grpc]
  address = "${CONTAINERD_SOCKET}"
[ttrpc]
  address = "${CONTAINERD_SOCKET}.ttrpc"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${PAUSE_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    BinaryName = "/usr/sbin/runc"
    SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${CNI}"
`;
}

const KUBELET_CONFIG = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  // Machines with version 1 of control groups still run.
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
  failSwapOn: false,
  enforceNodeAllocatable: [],
  address: NODE_ADDRESS,
  healthzBindAddress: '127.0.0.1',
  authentication: { anonymous: { enabled: false }, x509: { clientCAFile: join(PKI, 'ca.crt') }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  tlsCertFile: join(PKI, 'kubelet.crt'),
  tlsPrivateKeyFile: join(PKI, 'kubelet.key'),
  clusterDNS: [DNS_ADDRESS],
  clusterDomain: 'cluster.local',
  resolvConf: '/dev/null',
  // Images cannot be pulled again.
  imageGCHighThresholdPercent: 100,
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '0%', 'imagefs.available': '0%', 'nodefs.inodesFree': '0%' },
};

const PROXY = {
  kubeconfig: KUBECONFIG,
  'proxy-mode': 'iptables',
  'cluster-cidr': '10.244.0.0/16',
  'hostname-override': NODE_NAME,
  'bind-address': NODE_ADDRESS,
  'healthz-bind-address': '127.0.0.1:10256',
  'metrics-bind-address': '127.0.0.1:10249',
  // These would change settings of the kernel outside of the namespace.
  'conntrack-max-per-core': '0',
  'conntrack-tcp-timeout-established': '0',
  'conntrack-tcp-timeout-close-wait': '0',
} as const;
