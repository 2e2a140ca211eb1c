import { busContract } from './bus.contract.ts';
import { connectMemory } from './memory/connect-memory.ts';
import { createMemoryHub } from './memory/memory-hub.ts';
import { transportContract, type Network } from './transport.contract.ts';

async function openMemory(): Promise<Network> {
  const hub = createMemoryHub();
  return { connect: async () => connectMemory(hub), stop: async () => undefined };
}

transportContract('memory', openMemory);
busContract('memory', openMemory);
