import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { EVENTS_LOG, subjects, type Principal } from '@switchyard/contracts';
import { startTestGateway } from '../gateway.fixture.ts';
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
