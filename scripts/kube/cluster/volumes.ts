import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { VOLUMES } from '../paths.ts';
import { apply } from '../kubectl.ts';

/** No claim of the charts asks for more. The size is not enforced. */
const SIZE = '100Gi';

/** Adds static volumes, which are folders of this machine. A claim takes one, and it is not used again. */
export async function addVolumes(count: number): Promise<void> {
  await apply(Array.from({ length: count }, () => createVolume(`volume-${randomUUID()}`)));
}

function createVolume(name: string): object {
  const path = join(VOLUMES, name);
  mkdirSync(path, { recursive: true });
  // The group of a pod is not applied to folders of the machine.
  chmodSync(path, 0o777);
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: SIZE },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path, type: 'Directory' },
    },
  };
}
