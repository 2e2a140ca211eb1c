import assert from 'node:assert/strict';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findChromium, tempDir } from '@switchyard/testkit';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

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

test('a disk without room is UNAVAILABLE once, and the next call starts anew', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': '<title>Room</title>' });
  await using folder = await tempDir();
  const [program, isFull] = [join(folder.path, 'chromium'), join(folder.path, 'full')];
  await chmod(folder.path, 0o755);
  await writeFile(isFull, '');
  // While the disk is full, no file of Chromium can grow.
  const script = `#!/bin/sh\n[ -e ${isFull} ] && ulimit -f 0\nexec ${await findChromium()} "$@"\n`;
  await writeFile(program, script, { mode: 0o755 });
  await using app = await testBrowser({ settings: { browser: { chromePath: program } } });
  const navigate = () => app.bus.call('browser.navigate', { url: 'http://site.example/' });
  await assert.rejects(navigate(), { code: 'UNAVAILABLE', message: /did not start/ });
  await rm(isFull);
  assert.equal((await navigate()).title, 'Room');
});
