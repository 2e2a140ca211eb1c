import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

test('opens the same tabs with cookies and storage after a restart, and reports what was lost', TIMEOUT, async (t) => {
  await using data = await tempDir();
  await using _outside = await startOutside({
    '/': '<title>Kept</title><script>document.cookie = "a=1; Max-Age=900"; localStorage.setItem("b", "2")</script>',
    '/show': '<script>document.title = document.cookie + " " + localStorage.getItem("b")</script>',
    '/notes': `<script>const opening = indexedDB.open("notes", 2);
      opening.onupgradeneeded = () => opening.result.createObjectStore("all").add("third", 3);
      opening.onsuccess = () => { opening.result.transaction("all").objectStore("all").get(3).onsuccess = ({ target }) => {
        document.title = target.result + " of " + opening.result.version; }; };</script>`,
    '/restored': `<script>const opening = indexedDB.open("notes");
      opening.onsuccess = () => { opening.result.transaction("all").objectStore("all").get(3).onsuccess = ({ target }) => {
        document.title = target.result + " of " + opening.result.version; }; };</script>`,
  });
  /** The page writes its title when its database has answered. */
  const waitForNote = ({ bus }: Awaited<ReturnType<typeof testBrowser>>): Promise<void> =>
    t.waitFor(async () => assert.equal((await bus.call('browser.tabs', {})).tabs[0]?.title, 'third of 2'), { timeout: 60_000 });
  {
    await using app = await testBrowser({ data: data.path });
    await app.bus.call('browser.open', {});
    await app.bus.call('browser.close', { tabId: 'tab_1' });
    await app.bus.call('browser.navigate', { url: 'http://site.example/notes' });
    await waitForNote(app);
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  }
  await using again = await testBrowser({ data: data.path });
  const { tabs } = await again.bus.call('browser.tabs', {});
  assert.deepEqual(
    tabs.map(({ id, url }) => [id, url]),
    [['tab_2', 'http://site.example/']],
  );
  const { running, notRestored } = await again.bus.call('browser.status', {});
  assert.deepEqual([running, notRestored], [true, ['forms', 'history']]);
  assert.equal((await again.bus.call('browser.navigate', { url: 'http://site.example/show' })).title, 'a=1 2');
  await again.bus.call('browser.navigate', { url: 'http://site.example/restored' });
  await waitForNote(again);
  assert.deepEqual(await again.bus.call('browser.open', {}), { tabId: 'tab_3' });
});
