import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

test('opens the same tabs after a restart of the service, and reports what was lost', TIMEOUT, async () => {
  await using data = await tempDir();
  await using _outside = await startOutside({ '/': '<title>Kept</title>' });
  {
    await using app = await testBrowser({ data: data.path });
    await app.bus.call('browser.open', {});
    await app.bus.call('browser.close', { tabId: 'tab_1' });
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  }
  await using again = await testBrowser({ data: data.path });
  const { tabs } = await again.bus.call('browser.tabs', {});
  assert.deepEqual(
    tabs.map(({ id }) => id),
    ['tab_2'],
  );
  // The test has no master key, so cookies and storage are not saved.
  const { running, notRestored } = await again.bus.call('browser.status', {});
  assert.deepEqual([running, notRestored], [true, ['cookies', 'storage', 'forms', 'history']]);
  assert.deepEqual(await again.bus.call('browser.open', {}), { tabId: 'tab_3' });
});
