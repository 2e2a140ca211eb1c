import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts } from '@switchyard/contracts';
import type { Bus } from '../client/bus.ts';
import { to, version, type BusFixture } from './bus-fixture.contract.ts';

/** The bus reports at once that no replica subscribes. A deadline has another code. */
const GONE = { code: 'UNAVAILABLE', retryable: true, details: { reason: 'NO_RESPONDERS' } };

/** Operations that are called on one replica. */
export function replicaCallContract({ withBuses }: BusFixture): void {
  test('calls an operation on the replica that the caller names', async () => {
    await withBuses(async (join) => {
      const replicas = ['rep_one', 'host.two', 'rep_on', 'rep_one_'];
      const calls = new Map(replicas.map((replica) => [replica, 0]));
      for (const replica of replicas) {
        const owner = await join({ service: 'secrets' });
        const resolve = () => {
          calls.set(replica, (calls.get(replica) ?? 0) + 1);
          return { value: replica };
        };
        await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version, replica });
      }
      const caller = await join({ service: 'sessions' });
      for (const replica of [...replicas, ...replicas]) {
        assert.deepEqual(await caller.call('secrets.resolve', { name: 'A', to }, { replica }), { value: replica });
      }
      assert.deepEqual(
        [...calls],
        replicas.map((replica) => [replica, 2]),
        'another replica ran the call too',
      );
    });
  });

  test('a replica that restarts under another id receives no call for its former id', async () => {
    await withBuses(async (join) => {
      const received: string[] = [];
      const start = async (replica: string): Promise<Bus> => {
        const owner = await join({ service: 'secrets' });
        const resolve = (): { value: string } => {
          received.push(replica);
          return { value: replica };
        };
        await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version, replica });
        return owner;
      };
      const first = await start('secrets-1');
      const caller = await join({ service: 'sessions' });
      await caller.call('secrets.resolve', { name: 'A', to }, { replica: 'secrets-1' });
      await first.drain();
      await start('secrets-2');
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { replica: 'secrets-1' }), GONE);
      assert.equal(await caller.isReplicaConnected('secrets', 'secrets-1'), false);
      assert.deepEqual(await caller.call('secrets.resolve', { name: 'A', to }, { replica: 'secrets-2' }), { value: 'secrets-2' });
      assert.deepEqual(received, ['secrets-1', 'secrets-2']);
    });
  });

  test('a call to a replica fails with NO_RESPONDERS when it is unknown or has drained', async () => {
    await withBuses(async (join) => {
      const [first, second] = [await join({ service: 'secrets' }), await join({ service: 'secrets' })];
      const resolve = (): { value: string } => ({ value: 'x' });
      const served = await first.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version, replica: 'rep_one' });
      await second.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version, replica: 'rep_two' });
      const caller = await join({ service: 'sessions' });
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { replica: 'rep_three' }), GONE);
      await served.drain(1_000);
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { replica: 'rep_one' }), GONE);
      assert.deepEqual(await caller.call('secrets.resolve', { name: 'A', to }), { value: 'x' });
    });
  });

  test('isReplicaConnected returns true for a replica that does not answer, and false after its process is gone', async () => {
    await withBuses(async (join) => {
      const [hanging, registry] = [await join({ service: 'secrets' }), await join({ service: 'registry' })];
      await hanging.serve(contracts.secrets, {}, { version, replica: 'host.one' });
      await hanging.flush();
      assert.equal(await registry.isReplicaConnected('secrets', 'host.one'), true);
      assert.equal(await registry.isReplicaConnected('secrets', 'host.two'), false);
      await hanging.drain();
      assert.equal(await registry.isReplicaConnected('secrets', 'host.one'), false);
    });
  });

  test('refuses a replica for public methods, and a caller that the operation does not list', async () => {
    await withBuses(async (join) => {
      const caller = await join({ service: 'gateway' });
      await assert.rejects(caller.call('agents.list', {}, { replica: 'rep_one' }), { code: 'INVALID_ARGUMENT' });
      const other = await join({ service: 'gateway' });
      await assert.rejects(other.call('secrets.resolve', { name: 'A', to }, { replica: 'rep_one' }), { code: 'PERMISSION_DENIED' });
    });
  });
}
