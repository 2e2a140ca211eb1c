import { after, before, describe } from 'node:test';
import { callContract } from './bus-calls.contract.ts';
import { discoveryContract } from './bus-discovery.contract.ts';
import { eventContract } from './bus-events.contract.ts';
import { forwardedStreamContract } from './bus-forwarded-streams.contract.ts';
import { leavingContract } from './bus-cancellation.contract.ts';
import { largeContract } from './bus-large-payloads.contract.ts';
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
    describe('time and leaving', () => leavingContract(fixture));
    describe('what may be made again', () => repeatingContract(fixture));
    describe('streams', () => streamContract(fixture));
    describe('streams that are told', () => forwardedStreamContract(fixture));
    describe('what is too large for a message', () => largeContract(fixture));
    describe('what is secret', () => sealedContract(fixture));
    describe('events, doorbells and raw subjects', () => eventContract(fixture));
    describe('discovery', () => discoveryContract(fixture));
  });
}
