import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { NODE_NAME, pki } from '../certificates.ts';
import { flags } from '../flags.ts';
import { awaitSuccess, runInside } from '../kubectl.ts';
import { BRIDGE, CLUSTER_NETWORK, DNS_ADDRESS, NODE_ADDRESS, POD_NETWORK } from '../network.ts';
import { IMAGES, KUBECONFIG, program, PROGRAMS, RUNTIME, STATE } from '../paths.ts';
import { startProcess } from '../processes.ts';
import { PAUSE_IMAGE } from '../images/system-images.ts';
import { startContainerd } from './containerd.ts';

const NODE = join(STATE, 'node');
const KUBELET = join(NODE, 'kubelet');
/** The profile that the chart of the browser service ships, and its path below the folder of the kubelet. */
const SECCOMP_SOURCE = fileURLToPath(new URL('../../../deploy/helm/switchyard-browser/files/chromium-seccomp.json', import.meta.url));
const SECCOMP_PROFILE = 'seccomp/switchyard/chromium.json';
/** Debian puts its programs here; the PATH of a user may lack /usr/sbin. */
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** Starts the container runtime, the kubelet, kube-proxy and the enforcement of network policies. Resolves when the node is ready. */
export async function startNode(): Promise<void> {
  mkdirSync(NODE, { recursive: true });
  await startContainerd({ root: join(NODE, 'containerd'), cniConfiguration: writeCniConfiguration(), pauseImage: PAUSE_IMAGE });
  const ctr = [program('ctr'), ...flags({ address: `${RUNTIME}/containerd.sock`, namespace: 'k8s.io' })];
  await runInside([...ctr, 'images', 'import', IMAGES]);
  const env = { PATH: `${PROGRAMS}:${SYSTEM_PATH}`, NODE_NAME };
  const identity = flags({ kubeconfig: KUBECONFIG, 'hostname-override': NODE_NAME });
  const kubelet = flags({
    config: writeKubeletConfiguration(),
    'node-ip': NODE_ADDRESS,
    'root-dir': KUBELET,
    'cert-dir': join(NODE, 'kubelet-certificates'),
  });
  mkdirSync(dirname(join(KUBELET, SECCOMP_PROFILE)), { recursive: true });
  copyFileSync(SECCOMP_SOURCE, join(KUBELET, SECCOMP_PROFILE));
  startProcess('kubelet', [program('kubelet'), ...identity, ...kubelet], env);
  startProcess('kube-proxy', [program('kube-proxy'), ...identity, ...proxyFlags()], env);
  await awaitSuccess(['wait', '--for=condition=Ready', `node/${NODE_NAME}`, '--timeout=5s'], 'kubelet');
  const policies = flags({
    'run-firewall': true,
    'run-router': false,
    'run-service-proxy': false,
    'run-loadbalancer': false,
    'health-port': 0,
    'metrics-port': 0,
  });
  startProcess('kube-router', [program('kube-router'), ...identity, ...policies], env);
}

function proxyFlags(): string[] {
  return flags({
    'proxy-mode': 'iptables',
    'cluster-cidr': CLUSTER_NETWORK,
    'bind-address': NODE_ADDRESS,
    'healthz-bind-address': '127.0.0.1:10256',
    'metrics-bind-address': '127.0.0.1:10249',
    // Limits of the connection tracking belong to the whole machine.
    'conntrack-max-per-core': 0,
    'conntrack-tcp-timeout-established': 0,
    'conntrack-tcp-timeout-close-wait': 0,
  });
}

function writeCniConfiguration(): string {
  const folder = join(NODE, 'cni');
  mkdirSync(folder, { recursive: true });
  const ranges = [[{ subnet: POD_NETWORK, rangeStart: '10.244.0.10' }]];
  const ipam = { type: 'host-local', ranges, routes: [{ dst: '0.0.0.0/0' }], dataDir: join(NODE, 'addresses') };
  const plugin = { type: 'bridge', bridge: BRIDGE, isGateway: true, hairpinMode: true, ipam };
  writeFileSync(join(folder, '10-bridge.conflist'), JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [plugin] }));
  return folder;
}

function writeKubeletConfiguration(): string {
  const file = join(NODE, 'kubelet.yaml');
  const configuration = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    // Machines without version 2 of the control groups work as well.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    enforceNodeAllocatable: [],
    failSwapOn: false,
    containerRuntimeEndpoint: `unix://${RUNTIME}/containerd.sock`,
    address: NODE_ADDRESS,
    healthzBindAddress: '127.0.0.1',
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: pki('ca') }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    tlsCertFile: pki('kubelet'),
    tlsPrivateKeyFile: pki('kubelet', 'key'),
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: 'cluster.local',
    resolvConf: '/dev/null',
    // Images were imported and cannot be pulled again.
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '0%', 'imagefs.available': '0%', 'nodefs.inodesFree': '0%' },
    maxPods: 220,
  };
  writeFileSync(file, stringify(configuration));
  return file;
}
