import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAMS } from '../paths.ts';
import { LINK_FLAGS, runGo } from './go.ts';

const KUBERNETES = '1.37.2';
const ETCD = '3.7.0';
const COBRA = '1.10.2';
const GO = '1.26.0';
const SOURCE = fileURLToPath(new URL('kubernetes/main.go', import.meta.url));
const PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'kubelet', 'kubectl'];

/** Builds every part of Kubernetes as one program, with a link per part. It needs about seven minutes of two idle cores. */
export function buildKubernetes(): void {
  const folder = mkdtempSync(join(PROGRAMS, '.kubernetes-'));
  try {
    copyFileSync(SOURCE, join(folder, 'main.go'));
    writeFileSync(join(folder, 'go.mod'), writeModule(listStagingModules(folder)));
    runGo(['mod', 'tidy'], folder);
    runGo(['build', '-ldflags', [LINK_FLAGS, ...versionFlags()].join(' '), '-o', 'kubernetes', '.'], folder);
    for (const part of PARTS) {
      rmSync(join(PROGRAMS, part), { force: true });
      symlinkSync('kubernetes', join(PROGRAMS, part));
    }
    renameSync(join(folder, 'kubernetes'), join(PROGRAMS, 'kubernetes'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Without them the API server reports version 0, which every chart with a `kubeVersion` refuses. */
function versionFlags(): string[] {
  const [major = '', minor = ''] = KUBERNETES.split('.');
  const values = { gitVersion: `v${KUBERNETES}`, gitMajor: major, gitMinor: minor };
  return Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
}

/** Kubernetes names its own libraries by folders of its repository. Their published versions are 0.x of its version 1.x. */
function listStagingModules(folder: string): string[] {
  const answer = JSON.parse(runGo(['mod', 'download', '-json', `k8s.io/kubernetes@v${KUBERNETES}`], folder)) as { GoMod: string };
  const lines = readFileSync(answer.GoMod, 'utf8').matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging\//gm);
  return [...lines].map(([, name = '']) => name);
}

function writeModule(staging: readonly string[]): string {
  const version = `v${KUBERNETES.replace(/^1/, '0')}`;
  return [
    `module kubernetes\n\ngo ${GO}\n\ngodebug default=go1.26\n\nrequire (`,
    `\tgithub.com/spf13/cobra v${COBRA}`,
    `\tgo.etcd.io/etcd/server/v3 v${ETCD}`,
    `\tk8s.io/component-base ${version}`,
    `\tk8s.io/kubectl ${version}`,
    `\tk8s.io/kubernetes v${KUBERNETES}`,
    ')\n\nreplace (',
    ...staging.map((name) => `\t${name} => ${name} ${version}`),
    ')\n',
  ].join('\n');
}
