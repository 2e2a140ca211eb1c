import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

const MAX_TABS = 20;

test('a session has at most 20 tabs, also if a page opens them, and 500 console lines', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': `<title>Opener</title><button onclick="for (let at = 0; at < 30; at++) open('about:blank')">open</button>
      <script>for (let at = 0; at < 600; at++) console.log('line ' + at + ' ' + 'x'.repeat(3000))</script>`,
  });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const { entries } = await app.bus.call('browser.console', {});
  const lines = entries.filter(({ text }) => text.startsWith('line '));
  assert.ok(entries.length <= 500 && lines.length >= 499, `${lines.length} of ${entries.length}`);
  assert.match(lines.at(-1)?.text ?? '', /^line 599 /);
  assert.ok(lines.every(({ text }) => text.length === 2_000));
  for (let tabs = 1; tabs < MAX_TABS; tabs++) await app.bus.call('browser.open', {});
  await assert.rejects(app.bus.call('browser.open', {}), { code: 'RESOURCE_EXHAUSTED', retryable: true, message: /20 tabs/ });
  await app.bus.call('browser.close', { tabId: 'tab_20' });
  await app.bus.call('browser.focus', { tabId: 'tab_1' });
  await app.bus.call('browser.act', { action: 'click', selector: 'button' });
  const { tabs } = await app.bus.call('browser.tabs', {});
  assert.ok(tabs.length <= MAX_TABS, `${tabs.length} tabs`);
});

test('a replica without a place for another browser says so, and has one when a browser stops', TIMEOUT, async () => {
  await using app = await testBrowser({ settings: { browser: { maxProfiles: 1 } } });
  await app.bus.call('browser.start', {});
  const other = app.bus.as(principal({ agent: 'other' }));
  await assert.rejects(other.call('browser.start', {}), { code: 'RESOURCE_EXHAUSTED', retryable: true, message: /browser\.maxProfiles/ });
  await app.bus.call('browser.stop', {});
  assert.deepEqual(await other.call('browser.start', {}), { started: true });
});

test('at the bound of browsers the one that is idle for the longest time is saved and closed', TIMEOUT, async () => {
  const showCookie: RequestListener = ({ headers, url }, response) => {
    if (url === '/login') response.setHeader('set-cookie', 'name=first; Path=/; Max-Age=3600');
    response.end(`<title>cookie ${headers.cookie ?? 'none'}</title>`);
  };
  await using _outside = await startOutside({ '*': showCookie });
  await using app = await testBrowser({ minIdleMs: 0, settings: { browser: { maxProfiles: 2 } } });
  const [first, second, third] = ['first', 'second', 'third'].map((agent) => app.bus.as(principal({ agent })));
  assert.ok(first && second && third);
  await first.call('browser.navigate', { url: 'http://site.example/login' });
  await second.call('browser.start', {});
  assert.deepEqual(await third.call('browser.start', {}), { started: true });
  assert.deepEqual(await first.call('browser.status', {}), { running: false });
  assert.equal((await second.call('browser.status', {})).running, true, 'the browser that was used later stays');
  assert.equal((await first.call('browser.navigate', { url: 'http://site.example/' })).title, 'cookie name=first');
});

test('calls of one session run in order', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': '<title>Typed</title><input>' });
  await using app = await testBrowser({ settings: { browser: { evaluateEnabled: true } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const words = ['one ', 'two ', 'three ', 'four '];
  const typed = words.map((text) => app.bus.call('browser.act', { action: 'type', selector: 'input', text }));
  const read = app.bus.call('browser.act', { action: 'evaluate', text: 'document.querySelector("input").value' });
  await Promise.all(typed);
  assert.equal((await read).value, JSON.stringify(words.join('')));
});

test('methods that need a browser say what starts one', async () => {
  await using app = await testBrowser();
  const calls = [
    app.bus.call('browser.snapshot', {}),
    app.bus.call('browser.screenshot', {}),
    app.bus.call('browser.pdf', {}),
    app.bus.call('browser.act', { action: 'scroll' }),
    app.bus.call('browser.tabs', {}),
    app.bus.call('browser.focus', { tabId: 'tab_1' }),
    app.bus.call('browser.close', { tabId: 'tab_1' }),
    app.bus.call('browser.console', {}),
  ];
  for (const call of calls)
    await assert.rejects(call, { code: 'FAILED_PRECONDITION', message: /No browser is running.*browser\.navigate/ });
});
