import { after, before, describe } from 'node:test';
import { callContract } from './bus-calls.contract.ts';
import { discoveryContract } from './bus-discovery.contract.ts';
import { eventContract } from './bus-events.contract.ts';
import { forwardedStreamContract } from './bus-forwarded-streams.contract.ts';
import { leavingContract } from './bus-cancellation.contract.ts';
import { largeContract } from './bus-large-payloads.contract.ts';
import { replicaCallContract } from './bus-replica-calls.contract.ts';
import { repeatingContract } from './bus-retry-safety.contract.ts';
import { sealedContract } from './bus-sealed.contract.ts';
import { streamContract } from './bus-streams.contract.ts';
import { createBusFixture } from './bus-fixture.contract.ts';
import type { Network } from './transport.contract.ts';

/** Contract of a bus over any transport. */
export function busContract(name: string, open: () => Promise<Network>): void {
  describe(`bus over ${name}`, () => {
    let network: Network;
    before(async () => {
      network = await open();
    });
    after(() => network.stop());
    const fixture = createBusFixture(name, () => network);

    describe('calls', () => callContract(fixture));
    describe('deadlines, cancellation and drain', () => leavingContract(fixture));
    describe('calls to one replica', () => replicaCallContract(fixture));
    describe('retry safety', () => repeatingContract(fixture));
    describe('streams', () => streamContract(fixture));
    describe('forwarded streams', () => forwardedStreamContract(fixture));
    describe('large payloads', () => largeContract(fixture));
    describe('sealed calls', () => sealedContract(fixture));
    describe('events, wake-ups and raw subjects', () => eventContract(fixture));
    describe('discovery', () => discoveryContract(fixture));
  });
}
