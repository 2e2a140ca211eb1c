import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RUNTIME, STATE } from './paths.ts';
import { signal } from './processes.ts';

// State of the whole machine that a node changes, and its removal. It works as well if the cluster was killed half-way.

/** The kubelet sets them and does not restore them. */
const CHANGED_SYSCTLS = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
].map((name) => join('/proc/sys', name));
const SAVED = join(STATE, 'sysctls.json');
const CONTROL_GROUPS = '/sys/fs/cgroup';
const POD_GROUP = 'kubepods';
const POLL_MS = 50;
const MAX_ATTEMPTS = 100;

/** Records the values that the kubelet changes. */
export function saveSysctls(): void {
  const values = CHANGED_SYSCTLS.filter((file) => existsSync(file)).map((file) => [file, readFileSync(file, 'utf8')]);
  writeFileSync(SAVED, JSON.stringify(Object.fromEntries(values)));
}

export function restoreSysctls(): void {
  if (!existsSync(SAVED)) return;
  const saved = JSON.parse(readFileSync(SAVED, 'utf8')) as Record<string, string>;
  for (const [file, value] of Object.entries(saved)) if (readFileSync(file, 'utf8') !== value) writeFileSync(file, value);
}

/** Kills every process of a pod, and the supervisors of the containers, which containerd does not end with itself. */
export async function killContainers(): Promise<void> {
  for (;;) {
    const pids = [...listPodProcesses(), ...listShims()];
    if (pids.length === 0) return;
    for (const pid of pids) signal(pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}

/** Unmounts what lies below the folders of the cluster, the newest mount first. */
export function removeMounts(): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => unescapePath(line.split(' ')[4] ?? ''))
    .filter((path) => [RUNTIME, STATE].some((folder) => path.startsWith(`${folder}/`)));
  for (const path of mounts.reverse()) execFileSync('umount', [path]);
}

/** Removes the control groups of the pods, the innermost first. A group is busy for a moment after its last process has ended. */
export async function removeControlGroups(): Promise<void> {
  for (const folder of listPodGroups().flatMap((group) => listFolders(group).reverse())) {
    for (let attempt = 1; !removeFolder(folder, attempt === MAX_ATTEMPTS); attempt++) await sleep(POLL_MS);
  }
}

/** False if the group is busy, unless that is final. */
function removeFolder(folder: string, final: boolean): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    if (final || (error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    return false;
  }
}

/** The control groups of pods. Each version of the control groups has its own place: one hierarchy, or one for each controller. */
export function listPodGroups(): string[] {
  if (!existsSync(CONTROL_GROUPS)) return [];
  const hierarchies = ['.', ...readdirSync(CONTROL_GROUPS)];
  return [...new Set(hierarchies.map((name) => join(CONTROL_GROUPS, name, POD_GROUP)))].filter((path) => existsSync(path));
}

function listFolders(folder: string): string[] {
  return ifPresent(() => {
    const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [folder, ...inside.flatMap(({ name }) => listFolders(join(folder, name)))];
  });
}

function listPodProcesses(): number[] {
  const groups = listPodGroups().flatMap(listFolders);
  const read = (group: string): string => readFileSync(join(group, 'cgroup.procs'), 'utf8');
  return groups.flatMap((group) => ifPresent(() => read(group).split('\n').filter(Boolean).map(Number)));
}

/** The runtime removes groups of containers while they are read. The kernel reports a removed one as ENODEV as well. */
function ifPresent<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

function listShims(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readCommand(name).includes(`${RUNTIME}/containerd.sock`))
    .map(Number)
    .filter((pid) => readCommand(String(pid))[0]?.endsWith('containerd-shim-runc-v2') === true);
}

function readCommand(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

/** The kernel writes a space as \040. */
function unescapePath(path: string): string {
  return path.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
