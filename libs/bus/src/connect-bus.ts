import type { Bus } from './client/bus.ts';
import type { BusCredentials } from './nats/bus-credentials.ts';
import { createBus, type BusOptions } from './create-bus.ts';
import { connectMemory } from './memory/connect-memory.ts';
import { createMemoryHub, type MemoryHub } from './memory/memory-hub.ts';

export interface ConnectBusOptions extends BusOptions {
  /** For `memory:`: what the process's connections share. A fresh one unless given. */
  hub?: MemoryHub;
  /** For NATS: who we are, where the address does not say it. */
  credentials?: BusCredentials;
}

/** `memory:` or `nats://host:port`; several servers are joined by commas. Waits until the other side answers; UNAUTHENTICATED if it lets us in not. */
export async function connectBus(url: string, { hub, ...options }: ConnectBusOptions): Promise<Bus> {
  if (url === 'memory:') return createBus(connectMemory(hub ?? createMemoryHub()), options);
  if (!/^(nats|tls):\/\//.test(url)) throw new TypeError('the bus is memory: or nats://host:port');
  // Loaded when needed: a process with everything inside never touches it.
  const { connectNats } = await import('./nats/connect-nats.ts');
  return createBus(await connectNats(url, options), options);
}
