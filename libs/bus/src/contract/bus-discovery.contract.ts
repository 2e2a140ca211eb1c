import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { contracts } from '@switchyard/contracts';
import { bytes } from './message-collector.contract.ts';
import { to, version, type BusFixture } from './bus-fixture.contract.ts';

const PING = '$SRV.PING';

/** Service discovery. */
export function discoveryContract({ withBuses }: BusFixture): void {
  test('discover returns each replica of each service', () =>
    withBuses(async (join) => {
      const before = Date.now();
      for (const replica of ['b', 'a']) {
        const owner = await join({ service: 'secrets' });
        await owner.serve(contracts.secrets, {}, { version: '1.2.3', replica });
      }
      const shared = await join({ service: 'registry' });
      await shared.serve(contracts.registry, {}, { version, replica: 'a.b c' });
      await shared.serve(contracts.memory, {}, { version, replica: 'a.b c' });
      const matches = await (await join({ service: 'gateway' })).discover();
      assert.deepEqual(
        matches.map(({ service, replica, version: released, pid, host }) => ({ service, replica, version: released, pid, host })),
        [
          { service: 'memory', replica: 'a.b c', version },
          { service: 'registry', replica: 'a.b c', version },
          { service: 'secrets', replica: 'a', version: '1.2.3' },
          { service: 'secrets', replica: 'b', version: '1.2.3' },
        ].map((one) => ({ ...one, pid: process.pid, host: hostname() })),
      );
      for (const { startedAt } of matches) assert.ok(startedAt >= before && startedAt <= Date.now());
    }));

  test('discover with includeStats returns readiness and call statistics', () =>
    withBuses(async (join) => {
      const owner = await join({ service: 'secrets' });
      const resolve = ({ name }: { name: string }) => (name === 'BAD' ? Promise.reject(new Error('no luck')) : { value: name });
      const readiness = { ready: false, status: 'unavailable', dependencies: { store: { ready: false, reason: 'away', since: 1 } } };
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version, replica: 'r', readiness: () => readiness });
      const caller = await join({ service: 'sessions' });
      await caller.call('secrets.resolve', { name: 'GOOD', to });
      await assert.rejects(caller.call('secrets.resolve', { name: 'BAD', to }), { code: 'INTERNAL' });
      const asker = await join({ service: 'gateway' });
      const [found] = await asker.discover({ includeStats: true });
      assert.deepEqual(found?.readiness, readiness);
      const [{ averageMs, ...use } = { averageMs: 0 }] = found?.endpoints ?? [];
      assert.deepEqual(use, { method: 'secrets.resolve', requests: 2, errors: 1, lastError: 'INTERNAL: Internal error' });
      assert.ok(averageMs > 0);
      const [plain] = await asker.discover();
      assert.deepEqual([plain?.readiness, plain?.endpoints], [undefined, undefined]);
    }));

  test('discover resolves as soon as all required services have answered', () =>
    withBuses(async (join) => {
      const owner = await join({ service: 'secrets' });
      await owner.serve(contracts.secrets, {}, { version, replica: 'a' });
      const asker = await join({ service: 'gateway' });
      await asker.discover({ requiredServices: ['secrets'] });
      // A busy machine lengthens some attempts. Without the required services, each would last the whole window of 250 ms.
      let shortest = Infinity;
      for (let attempt = 0; attempt < 10 && shortest >= 200; attempt += 1) {
        const startedAt = performance.now();
        await asker.discover({ requiredServices: ['secrets'] });
        shortest = Math.min(shortest, performance.now() - startedAt);
      }
      assert.ok(shortest < 200, 'resolves with the last response');
      const found = await asker.discover({ requiredServices: ['secrets'] });
      assert.deepEqual(
        found.map(({ replica }) => replica),
        ['a'],
      );
    }));

  test('discover omits a drained bus and a drained service immediately', () =>
    withBuses(async (join) => {
      const [first, second, asker] = [await join(), await join(), await join()];
      const served = await first.serve(contracts.secrets, {}, { version, replica: 'first' });
      await second.serve(contracts.secrets, {}, { version, replica: 'second' });
      const names = async () => (await asker.discover()).map(({ replica }) => replica);
      assert.deepEqual(await names(), ['first', 'second']);
      await served.drain(0);
      await first.flush();
      assert.deepEqual(await names(), ['second']);
      await second.drain();
      assert.deepEqual(await names(), []);
    }));

  test('discover ignores malformed and foreign responses', () =>
    withBuses(async (join, raw) => {
      const stranger = await raw();
      const answer = { type: 'io.nats.micro.v1.ping_response', name: 'theirs', id: 'x', version: '1.0.0', metadata: {} };
      const ours = { replica: 'r', started: new Date(0).toISOString(), pid: '7', host: 'here' };
      // Each of these would be a separate replica.
      const answers = [
        'no JSON',
        '[]',
        '{}',
        answer,
        { ...answer, metadata: { ...ours, replica: 'pid', pid: 'x' } },
        { ...answer, metadata: { ...ours, replica: 'started', started: 'yesterday' } },
        { ...answer, metadata: { ...ours, replica: 'info' }, type: 'io.nats.micro.v1.info_response' },
        { ...answer, metadata: { ...ours, replica: 'host', host: 'x'.repeat(500) } },
        { ...answer, metadata: { ...ours, replica: 'long' }, description: 'x'.repeat(5_000) },
        { ...answer, metadata: ours },
        { ...answer, metadata: ours },
      ];
      stranger.subscribe(PING, ({ reply = '' }) => {
        for (const one of answers) stranger.publish({ subject: reply, data: bytes(typeof one === 'string' ? one : JSON.stringify(one)) });
      });
      await stranger.flush();
      assert.deepEqual(await (await join()).discover(), [
        { service: 'theirs', replica: 'r', version: '1.0.0', startedAt: 0, pid: 7, host: 'here' },
      ]);
    }));

  test('discover returns at most 1,000 replicas', () =>
    withBuses(async (join, raw) => {
      const crowd = await raw();
      crowd.subscribe(PING, ({ reply = '' }) => {
        for (let n = 0; n < 1_200; n++) {
          const metadata = { replica: `r${n}`, started: new Date(0).toISOString(), pid: '7', host: 'here' };
          const answer = { type: 'io.nats.micro.v1.ping_response', name: 'crowd', id: `r${n}`, version, metadata };
          crowd.publish({ subject: reply, data: bytes(JSON.stringify(answer)) });
        }
      });
      await crowd.flush();
      assert.equal((await (await join()).discover()).length, 1_000);
    }));

  test('discover on a closed bus rejects with UNAVAILABLE', () =>
    withBuses(async (join) => {
      const bus = await join();
      await bus.drain();
      await assert.rejects(bus.discover(), { code: 'UNAVAILABLE' });
    }));
}
