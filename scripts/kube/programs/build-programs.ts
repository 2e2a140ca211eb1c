import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { installHelm, installHelm4 } from '../../helm/tools.ts';
import { PROGRAMS, type Mode } from '../paths.ts';
import { buildDns } from './build-dns.ts';
import { buildKubernetes } from './build-kubernetes.ts';
import { buildGoProgram, type GoProgram } from './go.ts';

const CONTAINERD = { version: 'v2.4.2', tags: 'no_btrfs no_devmapper no_zfs' };
const CONTAINERD_COMMANDS = 'github.com/containerd/containerd/v2/cmd';

const GO_PROGRAMS: readonly GoProgram[] = [
  ...['containerd', 'containerd-shim-runc-v2', 'ctr'].map((name) => ({ name, package: `${CONTAINERD_COMMANDS}/${name}`, ...CONTAINERD })),
  {
    name: 'kube-router',
    package: 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router',
    version: 'v2.1.0',
    replacements: [],
  },
];

/** Programs of the system, with the Debian package that contains each. */
const SYSTEM_PROGRAMS: readonly (readonly [string, string])[] = [
  ['/usr/sbin/runc', 'runc'],
  ['/usr/lib/cni/bridge', 'containernetworking-plugins'],
  ['/usr/sbin/iptables', 'iptables'],
  ['/usr/sbin/ipset', 'ipset'],
  ['/usr/sbin/conntrack', 'conntrack'],
  ['/bin/busybox', 'busybox-static'],
  ['/usr/bin/tini-static', 'tini'],
  ['/usr/bin/openssl', 'openssl'],
  ['/usr/bin/nsenter', 'util-linux'],
];

/** Returns the Debian packages that a node needs and this machine lacks. */
export function findMissingPackages(): string[] {
  return SYSTEM_PROGRAMS.filter(([file]) => !existsSync(file)).map(([, name]) => name);
}

/** Builds the programs of a cluster into .tools, once. Fake nodes need no container runtime, DNS or policies. Requires Go. */
export function buildPrograms(mode: Mode, onProgress: (text: string) => void): void {
  mkdirSync(PROGRAMS, { recursive: true });
  if (!existsSync(join(PROGRAMS, 'kubernetes'))) {
    onProgress('building Kubernetes (about seven minutes on two idle cores, once)');
    buildKubernetes();
  }
  installHelm(onProgress);
  try {
    installHelm4(onProgress);
  } catch (error) {
    onProgress(`Helm 4 cannot be built, so its tests are skipped: ${String(error)}`);
  }
  if (mode === 'fake') return;
  if (!existsSync(join(PROGRAMS, 'coredns'))) {
    onProgress('building CoreDNS (a minute, once)');
    buildDns();
  }
  for (const one of GO_PROGRAMS) {
    if (existsSync(join(PROGRAMS, one.name))) continue;
    onProgress(`building ${one.package}@${one.version} (a few minutes, once)`);
    buildGoProgram(one);
  }
}
