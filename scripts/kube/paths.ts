import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Programs that are built once. */
export const PROGRAMS = join(ROOT, '.tools', 'kube');
/** Built by scripts/helm/tools.ts. */
export const HELM = join(ROOT, '.tools', 'helm', 'helm');
/** Missing if its module cannot be fetched. */
export const HELM_4 = join(ROOT, '.tools', 'helm', 'helm4');
/** Everything that one cluster writes, except its sockets. `make kube-stop` removes it. */
export const STATE = join(ROOT, '.switchyard', 'kube');
/** Whether nodes run containers, or only report them. */
export type Mode = 'real' | 'fake';
/** The file with the mode of the cluster. */
export const MODE = join(STATE, 'mode');
/** The state of the machine before the start. */
export const BEFORE = join(STATE, 'machine-state.json');
/** Sockets and mounts of the container runtime. Paths of sockets have at most 107 characters. */
export const RUNTIME = '/run/switchyard-kube';
export const KUBECONFIG = join(STATE, 'kubeconfig');
/** Certificates and keys of the control plane. */
export const PKI = join(STATE, 'pki');
/** Folders of the static volumes. */
export const VOLUMES = join(STATE, 'volumes');
/** The archive with all images. */
export const IMAGES = join(STATE, 'images.tar');
/** Programs that run inside the network namespace: kubectl, helm, ctr. */
export const WRAPPERS = join(STATE, 'bin');

/** Returns the path of a built program. */
export function program(name: string): string {
  return join(PROGRAMS, name);
}

/** Returns the mode of the running cluster, or undefined if none runs. */
export function readMode(): Mode | undefined {
  return existsSync(MODE) ? (readFileSync(MODE, 'utf8') as Mode) : undefined;
}
