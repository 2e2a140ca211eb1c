import type { Bus } from './client/bus.ts';
import type { BusCredentials } from './nats/bus-credentials.ts';
import { createBus, type BusOptions } from './create-bus.ts';
import { connectMemory } from './memory/connect-memory.ts';
import { createMemoryHub, type MemoryHub } from './memory/memory-hub.ts';

export interface ConnectBusOptions extends BusOptions {
  /** For `memory:`: shared by the connections of one process. Default: a new hub. */
  hub?: MemoryHub;
  /** For NATS: used if the URL has no credentials. */
  credentials?: BusCredentials;
}

/**
 * Connects to `memory:` or `nats://host:port` (several servers separated by commas). Waits until the server is reachable. Throws
 * UNAUTHENTICATED if it rejects the credentials.
 */
export async function connectBus(url: string, { hub, ...options }: ConnectBusOptions): Promise<Bus> {
  if (url === 'memory:') return createBus(connectMemory(hub ?? createMemoryHub()), options);
  if (!/^(nats|tls):\/\//.test(url)) throw new TypeError('the bus URL must be memory: or nats://host:port');
  // Imported on demand, so that the single-process profile does not load the NATS client.
  const { connectNats } = await import('./nats/connect-nats.ts');
  return createBus(await connectNats(url, options), options);
}
