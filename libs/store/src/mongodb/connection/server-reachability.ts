import type { MongoClient, ServerType } from 'mongodb';

/** Servers that take writes. */
const WRITABLE: ReadonlySet<ServerType> = new Set(['RSPrimary', 'Standalone', 'Mongos', 'LoadBalancer']);

/** Whether some server takes writes now, as the driver's own look-outs saw it last. */
export function trackReachability(client: Pick<MongoClient, 'on'>): () => boolean {
  let reachable = true;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    reachable = [...newDescription.servers.values()].some(({ type }) => WRITABLE.has(type));
  });
  return () => reachable;
}
