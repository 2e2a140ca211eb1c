import type { RollingRestart } from '@switchyard/contracts';
import type { ReplicaState } from '@switchyard/service-kit';

/** A process that says that it lives, with all that runs in it. */
export interface LiveProcess {
  process: string;
  /** `<service>.<replica>`, in order. */
  replicas: string[];
  services: string[];
  /** Whether everything in it can work. */
  ready: boolean;
}

/** Of what every replica reports: those that run in one process together. Who does not say where it runs is left out. */
export function liveProcesses(states: readonly ReplicaState[]): LiveProcess[] {
  const byProcess = Map.groupBy(states, ({ process }) => process);
  return [...byProcess].flatMap(([process, members]) => {
    if (process === undefined) return [];
    const replicas = members.map(({ replica }) => replica).toSorted();
    return [{ process, replicas, services: [...new Set(replicas.map(serviceOf))], ready: members.every(({ ready }) => ready) }];
  });
}

/** How many processes serve this one and can work. */
export function readyFor(live: readonly LiveProcess[], service: string): number {
  return live.filter(({ ready, services }) => ready && services.includes(service)).length;
}

/** All services there are, with how many can do the work of each. */
export function countReady(live: readonly LiveProcess[]): RollingRestart['ready'] {
  const services = new Set(live.flatMap((one) => one.services));
  return Object.fromEntries([...services].map((service) => [service, readyFor(live, service)]));
}

export function serviceOf(replica: string): string {
  return replica.slice(0, replica.indexOf('.'));
}
