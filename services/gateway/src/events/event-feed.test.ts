import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { EVENTS_LOG, subjects, type Principal } from '@switchyard/contracts';
import { startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { createEventFeed } from './event-feed.ts';

const PRINCIPAL: Principal = { tenant: 'default', client: 'test', scopes: ['*'] };
const log = { warn: () => undefined } as unknown as Parameters<typeof createEventFeed>[0]['log'];

function emitMessage(bus: Bus, tenant: string, content: string): void {
  bus.as({ ...PRINCIPAL, tenant }).emit('message:sent', { channelId: 'gateway', messageId: content, content });
}

test('a page is read from the events of its tenant alone, and covers those of other tenants', async () => {
  await using gateway = await startTestGateway();
  const { bus } = gateway;
  const events = await bus.log(EVENTS_LOG);
  for (const content of ['1', '3', '5']) {
    emitMessage(bus, 'default', content);
    emitMessage(bus, 'elsewhere', `after ${content}`);
  }
  while ((await events.position()).seq < 6) await new Promise(setImmediate);
  const page = mock.method(events, 'page');
  mock.method(bus, 'log', async () => events);
  const feed = createEventFeed({ bus, log });
  const { leave } = await feed.join({ events: () => undefined, progress: () => undefined, lost: () => undefined });
  const own = await feed.page('default', 1);
  leave();
  assert.deepEqual(
    own.events.map(({ seq, tenant }) => [seq, tenant]),
    [1, 3, 5].map((seq) => [seq, 'default']),
  );
  assert.equal(own.lastSeq, 6);
  const requested = page.mock.calls.map(({ arguments: [subject] }) => subject).filter((subject) => subject !== subjects.events);
  assert.deepEqual(requested, [subjects.eventsOfTenant('default')]);
});

/** A feed whose log has three events, all of them read. `check` is what the feed does when the bus is restored. */
async function openReadFeed(gateway: TestGateway) {
  const { bus } = gateway;
  const events = await bus.log(EVENTS_LOG);
  const restored = mock.method(bus, 'onRestored');
  mock.method(bus, 'log', async () => events);
  const feed = createEventFeed({ bus, log });
  const received: number[] = [];
  let resets = 0;
  let [awaited, arrived] = [0, Promise.withResolvers<void>()];
  const { leave } = await feed.join({
    events(batch) {
      received.push(...batch.map(({ seq }) => seq));
      if (received.length >= awaited) arrived.resolve();
    },
    progress: () => undefined,
    lost: () => void (resets += 1),
  });
  const awaitEvents = (count: number): Promise<void> => {
    [awaited, arrived] = [count, Promise.withResolvers()];
    if (received.length >= count) arrived.resolve();
    return arrived.promise;
  };
  for (const content of ['1', '2', '3']) emitMessage(bus, 'default', content);
  await awaitEvents(3);
  const check = restored.mock.calls[0]?.arguments[0] ?? assert.fail('the feed does not check its log');
  return { bus, events, feed, received, awaitEvents, check, leave, countResets: () => resets };
}

test('a log that a new leader reports as shorter for a moment is not reset', async () => {
  await using gateway = await startTestGateway();
  const { bus, events, received, awaitEvents, check, leave, countResets } = await openReadFeed(gateway);
  const current = await events.position();
  const position = mock.method(events, 'position');
  for (const [call, seq] of [1, 2, 2].entries()) position.mock.mockImplementationOnce(async () => ({ ...current, seq }), call);
  await check();
  assert.equal(position.mock.callCount(), 4);
  emitMessage(bus, 'default', '4');
  await awaitEvents(4);
  leave();
  assert.deepEqual([countResets(), received], [0, [1, 2, 3, 4]]);
});

test('a client ahead of a log that catches up is in its range', async () => {
  await using gateway = await startTestGateway();
  const { events, feed, leave } = await openReadFeed(gateway);
  const current = await events.position();
  const position = mock.method(events, 'position', async () => ({ ...current, seq: 7 }));
  position.mock.mockImplementationOnce(async () => ({ ...current, seq: 2 }));
  assert.equal(await feed.reaches(6), true);
  leave();
});

test('a log that has lost its newest events and has grown again is reset once', async () => {
  await using gateway = await startTestGateway();
  const { events, received, awaitEvents, check, leave, countResets } = await openReadFeed(gateway);
  const page = mock.method(events, 'page');
  const entries = await events.page(subjects.events, 3, 1);
  page.mock.mockImplementationOnce(async () => entries.map((entry) => ({ ...entry, seq: entry.seq, at: entry.at + 1 })), 1);
  await check();
  assert.equal(countResets(), 1);
  await awaitEvents(6);
  leave();
  assert.deepEqual(received, [1, 2, 3, 1, 2, 3]);
});
