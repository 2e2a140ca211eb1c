import { MAX } from '@switchyard/contracts';
import type { ReplicaState, WatchedReplicas } from '@switchyard/service-kit';
import type { Publisher, PublishedVersion } from './head-publisher.ts';

/** The published version and the replicas that do not run it. Undefined before the first publication. */
export type GetActiveVersion = () => ActiveVersion | undefined;

interface ActiveVersion extends PublishedVersion {
  replicas: number;
  lagging: Lagging[];
}

interface Lagging {
  replica: string;
  revision?: number;
  refused?: string;
}

export function createActiveVersion(publisher: Pick<Publisher, 'lastPublished'>, replicas: Pick<WatchedReplicas, 'all'>): GetActiveVersion {
  let cachedFor: { published: PublishedVersion | undefined; states: readonly ReplicaState[] } | undefined;
  let state: ActiveVersion | undefined;
  return () => {
    const published = publisher.lastPublished();
    const states = replicas.all();
    if (cachedFor?.published === published && cachedFor?.states === states) return state;
    cachedFor = { published, states };
    return (state = published && describeState(published, states));
  };
}

function describeState(published: PublishedVersion, states: readonly ReplicaState[]): ActiveVersion {
  const lagging = states.flatMap((state) => describeLag(state, published.revision)).sort((a, b) => (a.replica < b.replica ? -1 : 1));
  return { ...published, replicas: states.length, lagging: lagging.slice(0, MAX.many) };
}

function describeLag({ replica, revision, refused }: ReplicaState, revisionPublished: number): Lagging[] {
  const refuses = refused?.revision === revisionPublished;
  if (revision === revisionPublished && !refuses) return [];
  return [{ replica, ...(revision === undefined ? {} : { revision }), ...(refuses ? { refused: refused.reason } : {}) }];
}
