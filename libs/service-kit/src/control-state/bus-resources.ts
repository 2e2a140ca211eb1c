import type { Bus } from '@switchyard/bus';
import { BUCKETS, LOGS, listStreams, type ServiceName } from '@switchyard/contracts';

/** Opens the logs and buckets of a service, so that a missing one delays the start and does not fail a later call. */
export async function openKept(bus: Bus, service: ServiceName | undefined): Promise<void> {
  const isFor = ({ writers, readers }: { writers: readonly ServiceName[]; readers: readonly ServiceName[] }): boolean =>
    service === undefined || writers.includes(service) || readers.includes(service);
  for (const definition of LOGS.filter(isFor)) await bus.log(definition);
  for (const definition of BUCKETS.filter(isFor)) await bus.kv(definition);
}

/** The number of streams of a partitioned log, and the number of copies of each stream and bucket. */
export interface Spread {
  streams: number;
  copies: number;
}

/** Creates all logs and buckets, or updates them to their definitions. Resolves with their names. */
export async function makeKept(bus: Bus, { streams, copies }: Spread): Promise<string[]> {
  const logs = LOGS.map((log) => (log.parts === undefined ? { ...log, copies } : { ...log, copies, streams }));
  for (const definition of logs) await bus.log(definition);
  for (const definition of BUCKETS) await bus.kv({ ...definition, copies });
  return [...logs.flatMap((log) => listStreams(log).slice(0, log.streams)), ...BUCKETS.map(({ name }) => name)];
}
