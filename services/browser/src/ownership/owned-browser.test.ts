import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserSession } from '../sessions/browser-session.ts';
import type { LiveBrowser } from '../sessions/live-browser.ts';
import { createOwnedBrowser, type OwnedBrowserOptions } from './owned-browser.ts';

test('storage that changes while it is saved is saved again, once for all requests', async () => {
  const reads: PromiseWithResolvers<string>[] = [];
  const stored: unknown[] = [];
  const readStorage = (): Promise<string> => {
    const read = Promise.withResolvers<string>();
    reads.push(read);
    return read.promise;
  };
  const session = { readStorage, getState: () => ({}) } as unknown as BrowserSession;
  const live = { list: () => [['one', session]], find: () => session } as unknown as LiveBrowser;
  const lease = {
    tenant: 'default',
    document: { browserId: 'b', attempts: 0 },
    isHeld: () => true,
    write: async () => undefined,
    fence: 1,
  };
  const states = { save: async (_: unknown, state: unknown) => stored.push(state) > 0 };
  const options = { live, lease, states, now: () => 0, log: { warn: assert.fail }, numbers: { nextTab: 1 }, stop: () => undefined };
  const owned = createOwnedBrowser(options as unknown as OwnedBrowserOptions);

  const first = owned.saveStorage();
  const later = [owned.saveStorage(), owned.saveStorage()];
  reads[0]?.resolve('before');
  await first;
  reads[1]?.resolve('after');
  await Promise.all(later);
  assert.deepEqual(stored, ['before', 'after']);
});
