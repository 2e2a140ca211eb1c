import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

const PAGE = `<title>Prompts</title>
  <button id="prompt" onclick="document.title = 'prompt ' + prompt('name?')">prompt</button>
  <input type="file" id="file"><button id="place">place</button><button id="leave">leave</button>
  <script>
    place.onclick = () => navigator.geolocation.getCurrentPosition(() => { document.title = 'found'; }, ({ code }) => { document.title = 'place ' + code; });
    leave.onclick = () => { addEventListener('beforeunload', (event) => event.preventDefault()); document.title = 'guarded'; };
  </script>`;

test('dialogs, file choosers and permission prompts do not block a page', TIMEOUT, async () => {
  await using outside = await startOutside({ '/': PAGE, '/second': '<title>Second</title>' });
  // Pages of this machine are secure contexts, which may ask for permissions.
  await using app = await testBrowser({ settings: { browser: { allowLoopbackNavigation: true } } });
  const site = `http://127.0.0.1:${outside.port}`;
  await app.bus.call('browser.navigate', { url: `${site}/` });
  const click = (selector: string) => app.bus.call('browser.act', { action: 'click', selector });
  const readTitle = async () => (await app.bus.call('browser.tabs', {})).tabs[0]?.title;
  assert.deepEqual((await click('#prompt')).dialogs, ['prompt dismissed: name?']);
  assert.equal(await readTitle(), 'prompt null');
  assert.equal((await click('#file')).ok, true);
  assert.equal((await click('#place')).ok, true);
  for (let title = await readTitle(); title !== 'place 1'; title = await readTitle()) assert.match(title ?? '', /^prompt|place 1/);
  assert.equal((await click('#leave')).ok, true);
  assert.equal((await app.bus.call('browser.navigate', { url: `${site}/second` })).title, 'Second');
});
