import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

test('a page that replaces its document all the time is answered with a snapshot or a typed error', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': '<title>Restless</title><p>words</p><script>setTimeout(() => location.reload(), 50)</script>',
  });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 6_000 } } });
  for (const call of [() => app.bus.call('browser.snapshot', {}), () => app.bus.call('browser.screenshot', {})]) {
    // A tab that did not answer in time is closed.
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
    const code = await call().then(
      () => undefined,
      (error: { code?: string }) => error.code,
    );
    assert.ok(code === undefined || code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED', code);
  }
});
