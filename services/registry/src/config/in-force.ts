import { MAX } from '@switchyard/contracts';
import type { ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Publisher } from './publisher.ts';

/** Which version everybody is told to run, and who does not; undefined before anybody is told of any. */
export type InForce = () => { sha: string; revision: number; replicas: number; lagging: Lagging[] } | undefined;

interface Lagging {
  replica: string;
  revision?: number;
  refused?: string;
}

export function createInForce(publisher: Pick<Publisher, 'heard'>, replicas: Pick<WatchedReplicas, 'all'>): InForce {
  return () => {
    const told = publisher.heard();
    if (told === undefined) return undefined;
    const all = replicas.all();
    const lagging = all.flatMap((state) => laggingOf(state, told.revision)).sort((a, b) => (a.replica < b.replica ? -1 : 1));
    return { ...told, replicas: all.length, lagging: lagging.slice(0, MAX.many) };
  };
}

function laggingOf({ replica, revision, refused }: ReplicaState, wanted: number): Lagging[] {
  const refuses = refused?.revision === wanted;
  if (revision === wanted && !refuses) return [];
  return [{ replica, ...(revision === undefined ? {} : { revision }), ...(refuses ? { refused: refused.reason } : {}) }];
}
