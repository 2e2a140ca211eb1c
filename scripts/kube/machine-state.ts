import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { PROGRAMS, RUNTIME, STATE } from './paths.ts';

/** What a cluster may leave on a machine, as lines that tell one piece from another. */
export type MachineState = readonly string[];

/** Settings of the kernel that change by themselves. */
const VOLATILE =
  /^(fs\.(quota\.|dentry-state|file-nr|inode-nr|inode-state|aio-nr)|kernel\.(random\.|ns_last_pid|pty\.nr|hostname|tainted|sched_domain)|net\.netfilter\.nf_conntrack_count|vm\.stat)/;
const OWN_FOLDERS = [PROGRAMS, RUNTIME, STATE];

/** Reads settings of the kernel, network namespaces, and the mounts, control groups and processes of a cluster. */
export function readMachineState(): MachineState {
  return [
    ...readSysctls(),
    ...list('/run/netns').map((name) => `network namespace ${name}`),
    ...list('/sys/fs/cgroup')
      .filter((name) => existsSync(`/sys/fs/cgroup/${name}/kubepods`))
      .map((name) => `control group ${name}/kubepods`),
    ...readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter(namesCluster)
      .map((line) => `mount ${line}`),
    ...listOwnProcesses(),
  ];
}

/** Returns the lines that are new or have another value. */
export function compareMachineStates(before: MachineState, after: MachineState): string[] {
  const known = new Set(before);
  return after.filter((line) => !known.has(line));
}

function readSysctls(): string[] {
  // sysctl fails for settings that cannot be read, and prints the others.
  const output = execFileSync('sh', ['-c', 'sysctl -a 2>/dev/null || true'], { encoding: 'utf8', maxBuffer: 2 ** 24 });
  return output
    .split('\n')
    .filter((line) => line !== '' && !VOLATILE.test(line))
    .map((line) => `setting ${line}`);
}

function listOwnProcesses(): string[] {
  return list('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => `process ${pid} ${readCommand(pid)}`)
    .filter(namesCluster);
}

function readCommand(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it has ended
  }
}

function namesCluster(line: string): boolean {
  return OWN_FOLDERS.some((folder) => line.includes(`${folder}/`));
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
