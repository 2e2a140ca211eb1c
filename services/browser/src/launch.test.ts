import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';
import { listChromium, waitUntilGone } from './replicas.fixture.ts';

const ORPHAN_LIMIT_MS = 10_000;

const readWords = async (pid: number, file: 'cmdline' | 'environ'): Promise<string[]> =>
  (await readFile(`/proc/${pid}/${file}`, 'utf8')).split('\0').filter(Boolean);

test('Chromium listens on no port, has a sandbox, an empty environment and a profile that only it can read', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': '<title>Here</title>' });
  await using app = await testBrowser({ env: { SITE_PASSWORD: 'of the service' } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const [chromium] = await listChromium(process.pid);
  assert.ok(chromium);
  const flags = await readWords(chromium.pid, 'cmdline');
  assert.ok(flags.includes('--remote-debugging-pipe') && flags.includes('--proxy-bypass-list=<-loopback>'));
  assert.deepEqual(
    flags.filter((flag) => /^--(?:no-sandbox|disable-setuid-sandbox|remote-debugging-(?:port|address))/.test(flag)),
    [],
  );
  const variables = (await readWords(chromium.pid, 'environ')).map((variable) => variable.split('=', 1)[0]);
  assert.deepEqual(
    variables.filter((name) => !/^(?:HOME|TMPDIR|PATH|PWD|SHLVL|_|OLDPWD|CHROME_\w+)$/.test(name ?? '')),
    [],
  );
  const folder = await stat(dirname(chromium.profile));
  assert.equal(folder.mode & 0o777, 0o700);
  const status = await readFile(`/proc/${chromium.pid}/status`, 'utf8');
  assert.equal(Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]), folder.uid);
  if (process.getuid?.() === 0) assert.notEqual(folder.uid, 0, 'root has no sandbox');
});

test('no profile is left when Chromium is killed, alone or with its process group', { ...TIMEOUT, timeout: 60_000 }, async () => {
  await using _outside = await startOutside({ '/': '<title>Here</title>' });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 20_000 } } });
  for (const getTarget of [(pid: number): number => pid, (pid: number): number => -pid]) {
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
    const [chromium] = await listChromium(process.pid);
    assert.ok(chromium);
    process.kill(getTarget(chromium.pid), 'SIGKILL');
    await waitUntilGone(chromium, performance.now(), ORPHAN_LIMIT_MS);
    await app.bus.call('browser.stop', {}).catch(() => undefined);
  }
});

test('a running Chromium has no folder of the driver, which a killed service would leave', TIMEOUT, async () => {
  await using temporary = await tempDir();
  await using _outside = await startOutside({ '/': '<title>Here</title>' });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 20_000 } } });
  const { TMPDIR } = process.env;
  try {
    process.env['TMPDIR'] = temporary.path;
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
    assert.deepEqual(await readdir(temporary.path), []);
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
});
