import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

const PAGE = `<title>Words</title><style>.link { cursor: pointer }</style>
  <p>Read <span class="link" onclick="document.title = 'more'">more</span> or <span>less</span>,
    <a href="#top"><span>top</span></a> and <span class="link"><i onclick="document.title = 'inner'">inner</i></span>.</p>
  <div id="host"></div><iframe srcdoc="<style>b { cursor: pointer }</style><u style='cursor:pointer'>framed</u>"></iframe>
  <section><div><div class="link"><span>wrapped</span></div></div></section><mark class="link">marked</mark>
  <div onclick="document.title = 'block'">block</div><div tabindex="0">focus</div><h2>A <span class="link">heading</span></h2>
  <script>host.attachShadow({ mode: 'open' }).innerHTML = '<span style="cursor:pointer">shadowed</span>';</script>`;

test('a snapshot has a reference for text that is clickable by style alone, and leaves the page as it was', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': PAGE });
  await using app = await testBrowser({ settings: { browser: { evaluateEnabled: true, timeoutMs: 20_000 } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const readHtml = () => app.bus.call('browser.act', { action: 'evaluate', text: 'document.body.innerHTML' });
  const before = await readHtml();
  const { snapshot } = await app.bus.call('browser.snapshot', {});
  assert.deepEqual(await readHtml(), before);
  for (const word of ['more', 'shadowed', 'framed', 'inner', 'wrapped', 'marked', 'block', 'focus', 'heading']) {
    const lines = snapshot.split('\n').filter((line) => line.endsWith(word) && line.includes('[ref='));
    assert.equal(lines.length, 1, `${word}: ${snapshot}`);
  }
  assert.match(snapshot, /^ *- or less/m, 'text without a pointer is no target');
  assert.equal(snapshot.match(/"top"/g)?.length, 1, 'the word of a link is no target of its own');
  const ref = /\[ref=(e\d+)\]: more/.exec(snapshot)?.[1] ?? assert.fail(snapshot);
  assert.equal((await app.bus.call('browser.act', { action: 'click', selector: ref })).ok, true);
  assert.equal((await app.bus.call('browser.tabs', {})).tabs[0]?.title, 'more');
  const inner = /\[ref=(e\d+)\]: inner/.exec(snapshot)?.[1] ?? assert.fail(snapshot);
  await app.bus.call('browser.act', {
    action: 'evaluate',
    text: "document.querySelector('p').prepend('a', document.createElement('span'))",
  });
  assert.equal((await app.bus.call('browser.act', { action: 'click', selector: inner })).ok, true);
  assert.equal((await app.bus.call('browser.tabs', {})).tabs[0]?.title, 'inner', 'a reference is the same element on a changed page');
  const { snapshot: part } = await app.bus.call('browser.snapshot', { selector: 'p' });
  assert.match(part, /\[ref=e\d+\]: more/);
  assert.doesNotMatch(part, /block|focus/, 'targets outside of the selected part');
  const { snapshot: again } = await app.bus.call('browser.snapshot', { interactive: true });
  assert.ok(again.includes(`[ref=${ref}]: more`), 'the element keeps its reference');
});
