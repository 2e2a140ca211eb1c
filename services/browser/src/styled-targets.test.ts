import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

const PAGE = `<title>Words</title><style>.link { cursor: pointer }</style>
  <p>Read <span class="link" onclick="document.title = 'more'">more</span> or <span>less</span>,
    <a href="#top"><span>top</span></a> and <span class="link"><i onclick="document.title = 'inner'">inner</i></span>.</p>
  <div id="host"></div><iframe srcdoc="<style>b { cursor: pointer }</style><u style='cursor:pointer'>framed</u>"></iframe>
  <section><div><div class="link"><span>wrapped</span></div></div></section><mark class="link">marked</mark>
  <script>host.attachShadow({ mode: 'open' }).innerHTML = '<span style="cursor:pointer">shadowed</span>';</script>`;

test('a snapshot has a reference for text that is clickable by style alone, and leaves the page as it was', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': PAGE });
  await using app = await testBrowser({ settings: { browser: { evaluateEnabled: true } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const readHtml = () => app.bus.call('browser.act', { action: 'evaluate', text: 'document.body.innerHTML' });
  const before = await readHtml();
  const { snapshot } = await app.bus.call('browser.snapshot', {});
  assert.deepEqual(await readHtml(), before);
  for (const word of ['more', 'shadowed', 'framed', 'inner', 'wrapped', 'marked']) {
    const lines = snapshot.split('\n').filter((line) => line.endsWith(word) && line.includes('[ref='));
    assert.equal(lines.length, 1, `${word}: ${snapshot}`);
  }
  assert.match(snapshot, /^ *- or less/m, 'text without a pointer is no target');
  assert.equal(snapshot.match(/"top"/g)?.length, 1, 'the word of a link is no target of its own');
  const ref = /\[ref=(e\d+)\]: more/.exec(snapshot)?.[1] ?? assert.fail(snapshot);
  assert.equal((await app.bus.call('browser.act', { action: 'click', selector: ref })).ok, true);
  assert.equal((await app.bus.call('browser.tabs', {})).tabs[0]?.title, 'more');
  const { snapshot: again } = await app.bus.call('browser.snapshot', { interactive: true });
  assert.ok(again.includes(`[ref=${ref}]: more`), 'the element keeps its reference');
});

test('accepts references and CSS only, and no chains that enter frames or other engines', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': `<title>Chain</title><iframe srcdoc="<button>In</button>"></iframe><button>Out</button>`,
  });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const chains = ['body >> button', 'iframe >> internal:control=enter-frame >> button', 'body >> xpath=.//button', 'body>>text=Out'];
  for (const selector of chains) {
    for (const action of ['click', 'hover', 'scroll'] as const) {
      const { ok, error } = await app.bus.call('browser.act', { action, selector });
      assert.equal(ok, false, selector);
      assert.match(error ?? '', /reference of a snapshot or CSS/);
    }
    await assert.rejects(app.bus.call('browser.snapshot', { selector }), {
      code: 'INVALID_ARGUMENT',
      message: /reference of a snapshot or CSS/,
    });
  }
  for (const selector of ['xpath=//button', 'text=Out', 'internal:role=button', '//button'])
    assert.equal((await app.bus.call('browser.act', { action: 'click', selector })).ok, false, selector);
  assert.equal((await app.bus.call('browser.act', { action: 'click', selector: 'body > button' })).ok, true);
});
