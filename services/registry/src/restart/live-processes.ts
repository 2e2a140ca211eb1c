import type { RollingRestart } from '@switchyard/contracts';
import type { ReplicaState } from '@switchyard/service-kit';

/** A running process with its replicas. */
export interface LiveProcess {
  process: string;
  /** `<service>.<replica>`, in order. */
  replicas: string[];
  services: string[];
  /** Whether all its replicas are ready. */
  ready: boolean;
}

/** Groups the reports of replicas by process. Reports without a process are skipped. */
export function groupByProcess(states: readonly ReplicaState[]): LiveProcess[] {
  const byProcess = Map.groupBy(states, ({ process }) => process);
  return [...byProcess].flatMap(([process, members]) => {
    if (process === undefined) return [];
    const replicas = members.map(({ replica }) => replica).toSorted();
    return [{ process, replicas, services: [...new Set(replicas.map(parseService))], ready: members.every(({ ready }) => ready) }];
  });
}

/** Counts the ready processes that run this service. */
export function countReadyFor(live: readonly LiveProcess[], service: string): number {
  return live.filter(({ ready, services }) => ready && services.includes(service)).length;
}

/** The number of ready processes by service. */
export function countReady(live: readonly LiveProcess[]): RollingRestart['ready'] {
  const services = new Set(live.flatMap((one) => one.services));
  return Object.fromEntries([...services].map((service) => [service, countReadyFor(live, service)]));
}

export function parseService(replica: string): string {
  return replica.slice(0, replica.indexOf('.'));
}
