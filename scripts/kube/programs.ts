import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program, PROGRAMS } from './paths.ts';

const SOURCES = fileURLToPath(new URL('programs/', import.meta.url));
const PACKAGES = ['runc', 'containernetworking-plugins', 'iptables', 'ipset', 'conntrack', 'busybox-static', 'tini', 'iproute2'];
/** The parts that the program `kube` contains. */
const KUBE_PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'kubelet', 'kubectl'];
const CONTAINERD = 'github.com/containerd/containerd/v2/cmd';
const CONTAINERD_VERSION = 'v2.4.2';
const CONTAINERD_TAGS = 'no_btrfs no_devmapper no_zfs';

/** Builds or installs what a cluster needs into `.tools/kube/bin`, once. A first build takes about fifteen minutes on two cores. */
export function buildPrograms(onProgress: (text: string) => void): void {
  mkdirSync(PROGRAMS, { recursive: true });
  if (!existsSync('/usr/sbin/runc') || !existsSync('/usr/bin/tini')) {
    onProgress(`installing ${PACKAGES.join(', ')}`);
    execFileSync('apt-get', ['install', '--yes', '--quiet', '--quiet', '--no-install-recommends', ...PACKAGES], { stdio: 'pipe' });
  }
  build('kube', onProgress, buildKube);
  for (const part of KUBE_PARTS) if (!existsSync(program(part))) symlinkSync('kube', program(part));
  build('pause', onProgress, (target) => execute('gcc', ['-O2', '-static', '-o', target, join(SOURCES, 'pause.c')], SOURCES));
  for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr'])
    build(name, onProgress, () => goInstall(`${CONTAINERD}/${name}@${CONTAINERD_VERSION}`, ['-tags', CONTAINERD_TAGS]));
  build('coredns', onProgress, () => goInstall('github.com/coredns/coredns@v1.15.0', [], { CGO_ENABLED: '0' }));
  build('metrics-server', onProgress, (target) => goTool('sigs.k8s.io/metrics-server/cmd/metrics-server', 'v0.8.0', target));
  build('kube-router', onProgress, (target) => goTool('github.com/cloudnativelabs/kube-router/v2/cmd/kube-router', 'v2.1.0', target));
  build('helm3', onProgress, (target) => {
    goInstall('helm.sh/helm/v3/cmd/helm@v3.22.0');
    renameSync(program('helm'), target);
  });
  build('helm4', onProgress, (target) => {
    goInstall('helm.sh/helm/v4/cmd/helm@v4.3.1');
    renameSync(program('helm'), target);
  });
}

function build(name: string, onProgress: (text: string) => void, create: (target: string) => void): void {
  if (existsSync(program(name))) return;
  onProgress(`building ${name}`);
  create(program(name));
}

function buildKube(target: string): void {
  inTemporaryFolder((folder) => {
    for (const file of ['main.go', 'go.mod']) copyFileSync(join(SOURCES, file), join(folder, file));
    execute('go', ['mod', 'tidy'], folder);
    execute('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', target, '.'], folder);
  });
}

function goInstall(module: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): void {
  execute('go', ['install', '-trimpath', '-ldflags', '-s -w', ...args, module], SOURCES, { GOBIN: PROGRAMS, GOFLAGS: '-mod=mod', ...env });
}

/** `go install` refuses modules with replacements in their go.mod; as a tool of another module they build. */
function goTool(path: string, version: string, target: string): void {
  inTemporaryFolder((folder) => {
    execute('go', ['mod', 'init', 'tools'], folder);
    execute('go', ['get', '-tool', `${path}@${version}`], folder);
    execute('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', target, path], folder);
  });
}

function inTemporaryFolder(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'kube-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function execute(file: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): void {
  execFileSync(file, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
}
