import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

test('a page with a million nodes is answered with a snapshot or a typed error, and the next call works', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': '<title>Fine</title>',
    '/large': `<title>Large</title><button onclick="document.body.insertAdjacentHTML('beforeend', '<p>word</p>'.repeat(1e6))">grow</button>`,
  });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 5_000 } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/large' });
  await app.bus.call('browser.act', { action: 'click', selector: 'button' });
  const read = async (): Promise<void> => {
    const { snapshot, truncated } = await app.bus.call('browser.snapshot', { maxChars: 10_000 });
    assert.ok(truncated && snapshot.length <= 10_000);
  };
  await read().catch((error: { code?: string }) => {
    if (error instanceof assert.AssertionError) throw error;
    assert.match(error.code ?? '', /DEADLINE_EXCEEDED|UNAVAILABLE|FAILED_PRECONDITION/);
  });
  assert.equal((await app.bus.call('browser.navigate', { url: 'http://site.example/' })).title, 'Fine');
});
