import type { Bus } from '@switchyard/bus';
import { BUCKETS, LOGS, listStreams, type ServiceName } from '@switchyard/contracts';

/** Opens what the bus keeps for a service, so that what nobody has made yet is waited for at the start and not met in a call. */
export async function openKept(bus: Bus, service: ServiceName | undefined): Promise<void> {
  const isFor = ({ writers, readers }: { writers: readonly ServiceName[]; readers: readonly ServiceName[] }): boolean =>
    service === undefined || writers.includes(service) || readers.includes(service);
  for (const definition of LOGS.filter(isFor)) await bus.log(definition);
  for (const definition of BUCKETS.filter(isFor)) await bus.kv(definition);
}

/** In how many streams a log is kept that can be in several, and on how many servers everything. */
export interface Spread {
  streams: number;
  copies: number;
}

/** Makes all that the bus keeps, as it is to be spread. Resolves with the names. */
export async function makeKept(bus: Bus, { streams, copies }: Spread): Promise<string[]> {
  const logs = LOGS.map((log) => (log.parts === undefined ? { ...log, copies } : { ...log, copies, streams }));
  for (const definition of logs) await bus.log(definition);
  for (const definition of BUCKETS) await bus.kv({ ...definition, copies });
  return [...logs.flatMap((log) => listStreams(log).slice(0, log.streams)), ...BUCKETS.map(({ name }) => name)];
}
