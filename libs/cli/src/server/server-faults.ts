import type { ServicePresence } from '@switchyard/contracts';
import type { ServerReadiness } from './readiness.ts';

/** Something that should work and does not. */
export interface Fault {
  about: 'ready' | 'services';
  detail: string;
}

/**
 * What is wrong with a server that answers, and with the services behind it: nothing, when it takes work, every service that is built
 * has a replica, and each replica can work. `status` and `doctor` both go by it, so they never disagree.
 */
export function faultsOf(readiness: ServerReadiness): Fault[] {
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

/** The replica that was asked, and those in one process with it, lack what it says itself: that is told once. */
function unfitReplica(service: string, { replica, readiness }: ServicePresence['replicas'][number], told: string): string[] {
  if (readiness === undefined || readiness.ready) return [];
  const absent = missing(readiness.dependencies);
  if (absent.length > 0 && absent.join() === told) return [];
  return [`${service} ${replica} ${absent.length === 0 ? `is ${readiness.status}` : `lacks ${absent.join(', ')}`}`];
}

/** `bus: not connected`. */
export function missing(dependencies: Readonly<Record<string, { ready: boolean; reason?: string | undefined }>>): string[] {
  return Object.entries(dependencies).flatMap(([name, { ready, reason = 'not ready' }]) => (ready ? [] : [`${name}: ${reason}`]));
}
