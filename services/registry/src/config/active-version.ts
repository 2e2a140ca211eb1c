import { MAX } from '@switchyard/contracts';
import type { ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Publisher, Told } from './head-publisher.ts';

/** The published version and the replicas that do not run it. Undefined before the first publication. */
export type InForce = () => State | undefined;

interface State extends Told {
  replicas: number;
  lagging: Lagging[];
}

interface Lagging {
  replica: string;
  revision?: number;
  refused?: string;
}

export function createInForce(publisher: Pick<Publisher, 'heard'>, replicas: Pick<WatchedReplicas, 'all'>): InForce {
  let from: { told: Told | undefined; all: readonly ReplicaState[] } | undefined;
  let state: State | undefined;
  return () => {
    const told = publisher.heard();
    const all = replicas.all();
    if (from?.told === told && from?.all === all) return state;
    from = { told, all };
    return (state = told && stateOf(told, all));
  };
}

function stateOf(told: Told, all: readonly ReplicaState[]): State {
  const lagging = all.flatMap((state) => laggingOf(state, told.revision)).sort((a, b) => (a.replica < b.replica ? -1 : 1));
  return { ...told, replicas: all.length, lagging: lagging.slice(0, MAX.many) };
}

function laggingOf({ replica, revision, refused }: ReplicaState, wanted: number): Lagging[] {
  const refuses = refused?.revision === wanted;
  if (revision === wanted && !refuses) return [];
  return [{ replica, ...(revision === undefined ? {} : { revision }), ...(refuses ? { refused: refused.reason } : {}) }];
}
