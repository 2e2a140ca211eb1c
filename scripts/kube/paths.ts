import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Programs and images, built once. */
export const TOOLS = join(ROOT, '.tools/kube');
export const PROGRAMS = join(TOOLS, 'bin');
export const IMAGES = join(TOOLS, 'images');
/** Data, keys, logs and process ids of the running cluster. Removed when it is stopped. */
export const STATE = join(TOOLS, 'state');
export const KUBECONFIG = join(STATE, 'kubeconfig');
/** Sockets of containerd. A path in `STATE` may exceed the 107 characters of a socket path. */
export const SOCKETS = '/run/switchyard-kube';
export const CONTAINERD_SOCKET = `${SOCKETS}/containerd.sock`;

export function program(name: string): string {
  return join(PROGRAMS, name);
}
