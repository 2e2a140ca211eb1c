import type { Bus } from '@switchyard/bus';
import { BUCKETS, LOGS, streamsOf, type ServiceName } from '@switchyard/contracts';

/** Opens what the bus keeps for a service, so that what nobody has made yet is waited for at the start and not met in a call. */
export async function openKept(bus: Bus, service: ServiceName | undefined): Promise<void> {
  const isFor = ({ writers, readers }: { writers: readonly ServiceName[]; readers: readonly ServiceName[] }): boolean =>
    service === undefined || writers.includes(service) || readers.includes(service);
  for (const definition of LOGS.filter(isFor)) await bus.log(definition);
  for (const definition of BUCKETS.filter(isFor)) await bus.kv(definition);
}

/** Makes all that the bus keeps, and a log that can be in several streams in as many as are said. Resolves with the names. */
export async function makeKept(bus: Bus, streams: number): Promise<string[]> {
  const logs = LOGS.map((definition) => (definition.parts === undefined ? definition : { ...definition, streams }));
  for (const definition of logs) await bus.log(definition);
  for (const definition of BUCKETS) await bus.kv(definition);
  return [...logs.flatMap((log) => streamsOf(log).slice(0, log.streams)), ...BUCKETS.map(({ name }) => name)];
}
