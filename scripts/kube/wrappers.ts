import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { insideNetwork } from './network.ts';
import { HELM, KUBECONFIG, program, RUNTIME, WRAPPERS } from './paths.ts';

const COMMANDS = {
  kubectl: [program('kubectl')],
  helm: [HELM],
  ctr: [program('ctr'), '--address', `${RUNTIME}/containerd.sock`, '--namespace', 'k8s.io'],
  curl: ['curl'],
};

/** Writes programs that reach the cluster, whose addresses exist only in its network namespace. */
export function writeWrappers(): void {
  mkdirSync(WRAPPERS, { recursive: true });
  for (const [name, command] of Object.entries(COMMANDS)) {
    const words = insideNetwork(command).map((word) => `'${word}'`);
    writeFileSync(join(WRAPPERS, name), `#!/bin/sh\nKUBECONFIG='${KUBECONFIG}' exec ${words.join(' ')} "$@"\n`, { mode: 0o755 });
  }
}
