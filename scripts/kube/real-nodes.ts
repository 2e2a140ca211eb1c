import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listPodGroups } from './kernel-state.ts';
import { findMissingPackages } from './programs/build-programs.ts';

/** Returns why no real pod can run on this machine. An empty list means that it can. */
export function findObstacles(): string[] {
  if (process.env['KUBE_NODES'] === 'fake') return ['KUBE_NODES=fake is set'];
  if (process.platform !== 'linux') return ['containers need Linux'];
  if (process.getuid?.() !== 0) return ['only root may create containers'];
  // The pods of another kubelet would be ended together with the cluster.
  const [foreign] = listPodGroups();
  if (foreign !== undefined) return [`another kubelet runs on this machine: ${foreign} exists`];
  const missing = findMissingPackages();
  if (missing.length > 0) return [`programs are missing; install the packages ${missing.join(' ')}`];
  return [tryNamespace(), tryOverlay(), tryControlGroup()].filter((obstacle) => obstacle !== undefined);
}

/** A bridge and a pair of interfaces in a network namespace, with a rule of iptables. */
function tryNamespace(): string | undefined {
  const script = 'ip link add b0 type bridge && ip link add v0 type veth peer name v1 && iptables -t nat -L -n';
  return attempt('the kernel allows no network namespace with a bridge', 'unshare', '--net', 'sh', '-c', script);
}

/** The file system of a container, in a mount namespace that ends with the command. */
function tryOverlay(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
  try {
    for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(join(folder, name));
    const script = `mount -t tmpfs none upper && mkdir upper/u upper/w && mount -t overlay overlay -o lowerdir=lower,upperdir=upper/u,workdir=upper/w merged`;
    return attempt('the kernel allows no overlay file system', 'unshare', '--mount', 'sh', '-c', `cd '${folder}' && ${script}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function tryControlGroup(): string | undefined {
  const hierarchy = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup'].find((folder) => existsSync(folder)) ?? '';
  const group = join(hierarchy, `switchyard-probe-${process.pid}`);
  try {
    mkdirSync(group);
    rmdirSync(group);
    return undefined;
  } catch (error) {
    return `no control group can be created: ${(error as Error).message}`;
  }
}

function attempt(obstacle: string, file: string, ...args: string[]): string | undefined {
  try {
    execFileSync(file, args, { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    return `${obstacle}: ${stderr?.toString().trim() ?? String(error)}`;
  }
}
