import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testBrowser } from './browser.fixture.ts';

test('tells the caller what to do when Chromium is missing', async () => {
  await using app = await testBrowser({ settings: { browser: { chromePath: '/opt/no-chromium' } } });
  for (const call of [() => app.bus.call('browser.start', {}), () => app.bus.call('browser.navigate', { url: 'http://site.example/' })]) {
    await assert.rejects(call(), {
      code: 'FAILED_PRECONDITION',
      message: /\/opt\/no-chromium.*apt-get install chromium.*browser\.chromePath/,
      details: { reason: 'CHROMIUM_MISSING' },
    });
  }
  assert.deepEqual(await app.bus.call('browser.status', {}), { running: false });
  const { ready, dependencies } = app.host.health.readiness();
  assert.equal(ready, true, 'the other services of the process go on');
  assert.match(dependencies['browser.chromium']?.reason ?? '', /\/opt\/no-chromium/);
});

test('tells the caller that browser.noSandbox must be false', async () => {
  await using app = await testBrowser({ settings: { browser: { noSandbox: true } } });
  await assert.rejects(app.bus.call('browser.open', {}), {
    code: 'FAILED_PRECONDITION',
    message: /browser\.noSandbox must be false: set it to false/,
  });
});
