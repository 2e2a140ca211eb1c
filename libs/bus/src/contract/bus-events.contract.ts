import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS_LOG, subjects } from '@switchyard/contracts';
import type { Message } from '../wire/transport.ts';
import { alice, collect, type BusFixture } from './bus-fixture.contract.ts';

/** Events, wake-ups and raw subjects. */
export function eventContract({ withBuses, name }: BusFixture): void {
  test('an event reaches every subscriber and one member of each queue group', async () => {
    await withBuses(async (join) => {
      const [emitter, one, two] = [await join({ service: 'registry' }), await join(), await join()];
      const all = [collect(one), collect(two)];
      const queued = [collect(one, 'q'), collect(two, 'q')];
      await Promise.all([one.flush(), two.flush()]);
      for (let n = 0; n < 10; n++) emitter.as(alice).emit('agent:hot_removed', { agentId: `a${n}`, timestamp: n });
      await emitter.flush();
      await Promise.all(all.map((events) => events.until(10)));
      await Promise.all([one.flush(), two.flush()]);
      for (const { seen } of all)
        assert.deepEqual(
          seen,
          Array.from({ length: 10 }, (_, n) => ['acme', `a${n}`]),
        );
      assert.equal(queued[0]!.seen.length + queued[1]!.seen.length, 10);
    });
  });

  test('a recorded event is stored once per id, with its tenant', async () => {
    await withBuses(async (join) => {
      const bus = await join({ service: 'registry' });
      const events = collect(bus);
      const log = await bus.log(EVENTS_LOG);
      const subject = subjects.event('registry', 'agent:hot_removed', 'acme');
      const before = (await log.read(subject)).length;
      const event = {
        id: `ev_${name}_${process.pid}`,
        name: 'agent:hot_removed',
        payload: { agentId: 'x', timestamp: 1 },
        tenant: 'acme',
      };
      await bus.record(event);
      await bus.record(event);
      const keptItems = (await log.read(subject)).slice(before);
      assert.deepEqual(
        keptItems.map(({ data }) => JSON.parse(Buffer.from(data).toString()) as unknown),
        [event.payload],
      );
      await events.until(1);
      assert.deepEqual(events.seen[0], ['acme', 'x']);
      await assert.rejects(bus.record({ ...event, name: 'no:such_event' }), TypeError);
    });
  });

  test('a progress event reaches subscribers and is not kept in the log', async () => {
    await withBuses(async (join) => {
      const [emitter, reader] = [await join({ service: 'graph' }), await join()];
      const { promise: received, resolve } = Promise.withResolvers<string>();
      reader.on('graph:node_updated', ({ payload }) => resolve(payload.nodeId));
      await reader.flush();
      const log = await reader.log(EVENTS_LOG);
      const bus = emitter.as(alice);
      bus.emit('graph:node_updated', { graphId: 'graph_1', nodeId: 'one', status: 'running', timestamp: 1 });
      assert.equal(await received, 'one');
      bus.emit('graph:started', { graphId: 'graph_1', nodeCount: 1, timestamp: 1 });
      const read = async (name: 'graph:started' | 'graph:node_updated') => (await log.read(subjects.event('graph', name, 'acme'))).length;
      while ((await read('graph:started')) === 0) await new Promise(setImmediate);
      assert.equal(await read('graph:node_updated'), 0);
    });
  });

  test('a subscriber that throws does not affect the next one', async () => {
    await withBuses(async (join) => {
      const bus = await join({ service: 'registry' });
      bus.on('agent:hot_removed', () => assert.fail('on purpose'));
      const events = collect(bus);
      bus.subscribe('notify.all', () => assert.fail('on purpose'));
      await bus.flush();
      bus.publish('notify.all', Buffer.from('x'));
      bus.emit('agent:hot_removed', { agentId: 'x', timestamp: 1 });
      await events.until(1);
      assert.throws(() => bus.emit('agent:hot_removed', {} as { agentId: string; timestamp: number }), /breaks its contract: agentId/);
    });
  });

  test('wake reaches one replica', async () => {
    await withBuses(async (join) => {
      const heardBy: number[] = [];
      const rung = Promise.withResolvers<void>();
      for (const replica of [0, 1]) {
        const bus = await join({ service: 'sessions' });
        bus.onWake('sessions', () => {
          if (heardBy.push(replica) === 20) rung.resolve();
        });
        await bus.flush();
      }
      const ringer = await join({ service: 'gateway' });
      for (let n = 0; n < 20; n++) ringer.wake('sessions');
      await rung.promise;
      await ringer.flush();
      assert.equal(heardBy.length, 20);
    });
  });

  test('raw messages arrive in order, and a log definition is opened once', async () => {
    await withBuses(async (join) => {
      const bus = await join();
      const got = Promise.withResolvers<void>();
      const seen: string[] = [];
      bus.subscribe(subjects.turn('turn_x'), ({ data }: Message) => {
        seen.push(Buffer.from(data).toString());
        if (seen.length === 3) got.resolve();
      });
      await bus.flush();
      for (const frame of ['0', '1', '2']) bus.publish(subjects.turn('turn_x'), Buffer.from(frame));
      await got.promise;
      assert.deepEqual(seen, ['0', '1', '2']);
      assert.equal(bus.kv({ name: 'once' }), bus.as(alice).kv({ name: 'once' }));
      await bus.kv({ name: 'once' });
    });
  });
}
