import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInside } from '../kubectl.ts';
import { program, PROGRAMS, RUNTIME } from '../paths.ts';
import { assertRunning, startProcess } from '../processes.ts';

const POLL_MS = 200;
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

export interface ContainerdOptions {
  /** Folder of images and of the file systems of containers. */
  root: string;
  /** Folder with the configuration of the pods' network. */
  cniConfiguration: string;
  pauseImage: string;
}

/** Starts containerd and resolves when it answers. */
export async function startContainerd(options: ContainerdOptions): Promise<void> {
  mkdirSync(RUNTIME, { recursive: true, mode: 0o711 });
  const file = `${RUNTIME}/containerd.toml`;
  writeFileSync(file, configure(options));
  startProcess('containerd', [program('containerd'), '--config', file], { PATH: `${PROGRAMS}:${SYSTEM_PATH}` });
  while (!(await answers())) {
    assertRunning('containerd');
    await sleep(POLL_MS);
  }
}

async function answers(): Promise<boolean> {
  try {
    await runInside([program('ctr'), '--address', `${RUNTIME}/containerd.sock`, 'version']);
    return true;
  } catch {
    return false; // its socket does not exist yet
  }
}

function configure({ root, cniConfiguration, pauseImage }: ContainerdOptions): string {
  return `version = 3
root = "${root}"
state = "${RUNTIME}/containerd"
[grpc]
  address = "${RUNTIME}/containerd.sock"
[ttrpc]
  address = "${RUNTIME}/containerd.sock.ttrpc"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${pauseImage}"
[plugins.'io.containerd.cri.v1.runtime']
  # Machines without CAP_SYS_RESOURCE cannot lower the score.
  restrict_oom_score_adj = true
  # A killed cluster leaves its mounts below one folder.
  netns_mounts_under_state_dir = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${cniConfiguration}"
`;
}
