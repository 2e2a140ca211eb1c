import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';
import { listChromium } from './replicas.fixture.ts';

test('a page with an endless loop ends with a typed error, and the next call works', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': '<title>Fine</title>',
    '/loop': '<title>Loop</title><button onclick="for (;;) {}">Loop</button>',
    '/endless': (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<p>more'),
    '/alerts': '<title>Alerts</title><script>alert("one"); confirm("two")</script>',
  });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 6_000 } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/loop' });
  const looped = await app.bus.call('browser.act', { action: 'click', selector: 'button' });
  if (looped.ok) await assert.rejects(app.bus.call('browser.snapshot', {}), { code: 'DEADLINE_EXCEEDED', message: /tab_1 was closed/ });
  await assert.rejects(app.bus.call('browser.navigate', { url: 'http://site.example/endless' }), { code: 'DEADLINE_EXCEEDED' });
  assert.equal((await app.bus.call('browser.navigate', { url: 'http://site.example/alerts' })).title, 'Alerts');
  assert.equal((await app.bus.call('browser.navigate', { url: 'http://site.example/' })).title, 'Fine');
});

test('an endless body and a chain of redirects end with a typed error', TIMEOUT, async () => {
  const bodies: NodeJS.Timeout[] = [];
  await using _outside = await startOutside({
    '/': '<title>Fine</title>',
    '/body': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      bodies.push(setInterval(() => response.write('<p>more words</p>'.repeat(500)), 10));
    },
    '*': ({ url = '' }, response) => {
      const hops = Number(url.slice(1));
      response.writeHead(302, { location: hops === 40 ? '/' : `/${hops + 1}` }).end();
    },
  });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 6_000 } } });
  const navigate = (path: string) => app.bus.call('browser.navigate', { url: `http://site.example${path}` });
  await assert.rejects(navigate('/1'), { code: 'UNAVAILABLE', message: /ERR_TOO_MANY_REDIRECTS/, retryable: false });
  await assert.rejects(navigate('/body'), { code: 'DEADLINE_EXCEEDED' });
  for (const body of bodies) clearInterval(body);
  assert.equal((await navigate('/')).title, 'Fine');
});

test('endless dialogs end with a typed answer, and the next call works', TIMEOUT, async () => {
  await using _outside = await startOutside({
    '/': '<title>Fine</title>',
    '/alerts': '<title>Alerts</title><button onclick="for (;;) alert(1)">alert</button>',
  });
  await using app = await testBrowser({ settings: { browser: { timeoutMs: 6_000 } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/alerts' });
  const { dialogs = [] } = await app.bus.call('browser.act', { action: 'click', selector: 'button' });
  assert.equal(dialogs[0], 'alert accepted: 1');
  const read = app.bus.call('browser.snapshot', {});
  await read.catch((error: { code?: string }) => assert.match(error.code ?? '', /DEADLINE_EXCEEDED|FAILED_PRECONDITION|UNAVAILABLE/));
  assert.equal((await app.bus.call('browser.navigate', { url: 'http://site.example/' })).title, 'Fine');
});

test('a killed Chromium fails one call at most, and the next one works', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': '<title>Fine</title>' });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const [chromium = assert.fail('a Chromium runs')] = await listChromium(process.pid);
  process.kill(chromium.pid, 'SIGKILL');
  const again = (): Promise<{ title: string }> => app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const { title } = await again().catch((error: { code?: string }) => {
    assert.equal(error.code, 'UNAVAILABLE');
    return again();
  });
  assert.equal(title, 'Fine');
});
