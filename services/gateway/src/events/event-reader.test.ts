import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventFeed, FeedEvent, FeedListener } from './event-feed.ts';
import { createEventReader } from './event-reader.ts';

const createEvent = (seq: number, tenant: string): FeedEvent => ({ seq, tenant, text: `data: ${seq} of ${tenant}\n\n` });
const OWN = createEvent(2, 'default');
const FOREIGN = createEvent(1, 'elsewhere');

/** A reader of the tenant `default`, whose feed returns the events of all tenants. */
async function openReader(position: number) {
  let listener: FeedListener | undefined;
  const feed: EventFeed = {
    async join(joined) {
      listener = joined;
      return { leave: () => undefined };
    },
    position: { name: 'log', seq: position },
    reaches: async (seq) => seq <= position,
    page: async () => ({ events: [FOREIGN, OWN], firstSeq: 1, lastSeq: 2 }),
  };
  let written = '';
  const write = (text: string): void => void (written += text);
  const reader = createEventReader({ feed, tenant: 'default', write, isBehind: () => false, onError: assert.ifError });
  await reader.open({ name: 'log', seq: 0 });
  reader.begin();
  await new Promise(setImmediate);
  assert.ok(listener);
  return { listener, getWritten: () => written };
}

test('a reader sends no event of another tenant that its page contains', async () => {
  const { getWritten } = await openReader(2);
  assert.equal(getWritten(), `id: log-2\n${OWN.text}`);
});

test('a reader sends no live event and no progress of another tenant', async () => {
  const { listener, getWritten } = await openReader(0);
  listener.events([FOREIGN, OWN]);
  listener.progress({ tenant: 'elsewhere', text: 'data: progress of elsewhere\n\n' });
  listener.progress({ tenant: 'default', text: 'data: progress\n\n' });
  assert.equal(getWritten(), `id: log-2\n${OWN.text}data: progress\n\n`);
});
