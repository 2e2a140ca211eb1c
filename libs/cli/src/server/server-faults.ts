import type { ServicePresence } from '@switchyard/contracts';
import type { ServerReadiness } from './readiness.ts';

/** A component that does not work. */
export interface Fault {
  about: 'ready' | 'services';
  detail: string;
}

/**
 * Finds the faults of a reachable server: it is not ready, a built service has no replica, or a replica lacks a dependency. Used by
 * `status` and `doctor`.
 */
export function getFaults(readiness: ServerReadiness): Fault[] {
  const { services = [] } = readiness;
  const down = services.filter(({ state }) => state === 'down').map(({ service }) => `${service} is down: no replica answers`);
  const own = missing(readiness.dependencies).join();
  const unfit = services.flatMap(({ service, replicas }) => replicas.flatMap((replica) => unfitReplica(service, replica, own)));
  return [
    ...ownFaults(readiness).map((detail): Fault => ({ about: 'ready', detail })),
    ...[...down, ...unfit].map((detail): Fault => ({ about: 'services', detail })),
  ];
}

function ownFaults({ ready, state, dependencies }: ServerReadiness): string[] {
  if (ready) return [];
  const absent = missing(dependencies);
  return absent.length === 0 ? [`it is ${state}`] : absent;
}

/** Returns the faults of one replica. Replicas with the same missing dependencies as the server are skipped, to report them once. */
function unfitReplica(service: string, { replica, readiness }: ServicePresence['replicas'][number], reportedBy: string): string[] {
  if (readiness === undefined || readiness.ready) return [];
  const absent = missing(readiness.dependencies);
  if (absent.length > 0 && absent.join() === reportedBy) return [];
  return [`${service} ${replica} ${absent.length === 0 ? `is ${readiness.status}` : `lacks ${absent.join(', ')}`}`];
}

/** Lists optional dependencies that do not work, once each: the replicas are ready, but some calls fail. */
export function getDegradations({ ready, dependencies, services = [] }: ServerReadiness): string[] {
  const own = ready ? missing(dependencies) : [];
  const others = services.flatMap(({ replicas }) =>
    replicas.flatMap(({ readiness }) => (readiness?.ready === true ? missing(readiness.dependencies) : [])),
  );
  return [...new Set([...own, ...others])];
}

/** Lists dependencies that are not ready, such as `bus: not connected`. */
export function missing(dependencies: Readonly<Record<string, { ready: boolean; reason?: string | undefined }>>): string[] {
  return Object.entries(dependencies).flatMap(([name, { ready, reason = 'not ready' }]) => (ready ? [] : [`${name}: ${reason}`]));
}
