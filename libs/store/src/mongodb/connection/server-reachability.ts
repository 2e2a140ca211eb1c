import type { MongoClient, ServerType } from 'mongodb';

/** Types of servers that accept writes. */
const WRITABLE: ReadonlySet<ServerType> = new Set(['RSPrimary', 'Standalone', 'Mongos', 'LoadBalancer']);

/** Returns a function that tells whether a server accepts writes, according to the driver's monitors. */
export function trackReachability(client: Pick<MongoClient, 'on'>): () => boolean {
  let reachable = true;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    reachable = [...newDescription.servers.values()].some(({ type }) => WRITABLE.has(type));
  });
  return () => reachable;
}
