import type { Bus } from '@switchyard/bus';
import { BUCKETS, LOGS, type ServiceName } from '@switchyard/contracts';

/** Opens what the bus keeps for a service, so that what nobody has made yet is waited for at the start and not met in a call. */
export async function openKept(bus: Bus, service: ServiceName | undefined): Promise<void> {
  const isFor = ({ writers, readers }: { writers: readonly ServiceName[]; readers: readonly ServiceName[] }): boolean =>
    service === undefined || writers.includes(service) || readers.includes(service);
  for (const definition of LOGS.filter(isFor)) await bus.log(definition);
  for (const definition of BUCKETS.filter(isFor)) await bus.kv(definition);
}
