import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

test('accepts references and CSS only, and no chains that enter frames or other engines', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': `<title>Chain</title><iframe srcdoc="<button>In</button>"></iframe><button>Out</button>`,
  });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 20_000 } } });
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
  for (const selector of ['xpath=//button', 'text=Out', 'internal:role=button', '//button', '"Out"', 'css=button'])
    assert.match((await app.bus.call('browser.act', { action: 'click', selector })).error ?? '', /without engines such as text=/, selector);
  assert.equal((await app.bus.call('browser.act', { action: 'click', selector: 'body > button' })).ok, true);
});
