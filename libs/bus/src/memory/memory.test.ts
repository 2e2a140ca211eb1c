import { busContract } from '../contract/bus.contract.ts';
import { connectMemory } from './connect-memory.ts';
import { createMemoryHub } from './memory-hub.ts';
import { transportContract, type Network } from '../contract/transport.contract.ts';

async function openMemory(): Promise<Network> {
  const hub = createMemoryHub();
  return { connect: async () => connectMemory(hub), stop: async () => undefined };
}

transportContract('memory', openMemory);
busContract('memory', openMemory);
