import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { diagnosticCollection, hourCollection, positionCollection, recordCollection } from '../documents/collections.ts';
import { endTurn, getTurnId, startObservability, waitUntil } from '../observability.fixture.ts';
import { startIngest } from './ingest.ts';

const INTERVAL_MS = 60_000;

/** A clock whose time and timers are set by the test. */
class ManualClock implements Clock {
  time = 1_000;
  /** Reads that are scheduled for the next turn of the event loop. */
  immediate: (() => void)[] = [];
  /** Reads that are scheduled for later. */
  delayed: { ms: number; work: () => void }[] = [];
  now = (): number => this.time;
  soon = (work: () => void): void => void this.immediate.push(work);
  every = () => () => undefined;
  after = (ms: number, work: () => void) => {
    this.delayed.push({ ms, work });
    return () => undefined;
  };
}

/** Starts an ingest with this clock, and none besides it. */
async function startWithClock(t: TestContext, clock: ManualClock) {
  const app = await startObservability({ env: { SWITCHYARD_OBSERVABILITY__PERSISTENCE__ENABLED: 'false' } });
  const { host } = app.service;
  const store = await host.store('observability');
  const documents = await store.open({
    records: recordCollection,
    hours: hourCollection,
    diagnostics: diagnosticCollection,
    positions: positionCollection,
  });
  const { observability } = host.settings.current;
  const ingest = await startIngest({
    ...documents,
    bus: await host.connect('observability'),
    settings: () => ({ ...observability, persistence: { ...observability.persistence, enabled: true } }),
    log: silentLogger(),
    clock,
    now: () => store.now(),
    intervalMs: INTERVAL_MS,
  });
  t.after(async () => {
    await ingest[Symbol.asyncDispose]();
    await store.close();
    await app[Symbol.asyncDispose]();
  });
  return app;
}

test('reads the first event at once, and the events of the following 100 ms with one read', async (t) => {
  const clock = new ManualClock();
  const app = await startWithClock(t, clock);
  let published = 0;
  const publish = () => endTurn(app, { turnId: getTurnId(published++), usage: { calls: 1 } });
  const waitForRead = (position: number) => waitUntil(async () => (await app.readPosition()) === position, `event ${position}`);

  await publish();
  await waitUntil(async () => clock.immediate.length > 0, 'the first read');
  clock.immediate.shift()?.();
  await waitForRead(1);
  assert.equal(clock.delayed.length, 0);

  clock.time += 30;
  for (let n = 0; n < 5; n += 1) await publish();
  await waitUntil(async () => clock.delayed.length > 0, 'the second read');
  await nextTurn();
  assert.deepEqual([clock.immediate.length, clock.delayed.map(({ ms }) => ms)], [0, [70]]);
  assert.equal(await app.readPosition(), 1);
  clock.time += 70;
  clock.delayed.shift()?.work();
  await waitForRead(6);

  clock.time += 100;
  await publish();
  await waitUntil(async () => clock.immediate.length > 0, 'a read after a quiet time');
  clock.immediate.shift()?.();
  await waitForRead(7);
  assert.equal(clock.delayed.length, 0);
});
