import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, testService } from '@switchyard/testkit';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';
import { browser } from './service.ts';

const FORM = `<title>Form</title><h1>Order</h1><p>Choose <b>wisely</b>.</p>
  <label>Name <input id="name"></label> <label>Secret <input type="password" value="hunter2"></label>
  <select aria-label="Size"><option>Small</option><option>Large</option></select>
  <label><input type="checkbox"> Agree</label>
  <button onclick="document.title = 'Sent ' + document.querySelector('#name').value">Send</button>
  <button disabled>Never</button><div style="cursor:pointer" onclick="document.title = 'Styled'">Styled</div>
  <a href="/second">Second</a><p style="display:none">invisible words</p>`;

test('reports that the browser is off and names the setting', async () => {
  await using app = await testService(browser);
  await assert.rejects(app.bus.call('browser.navigate', { url: 'https://site.example/' }), {
    code: 'FAILED_PRECONDITION',
    message: /browser\.enabled/,
  });
  assert.deepEqual(await app.bus.call('browser.status', {}), { running: false });
});

test('other methods than navigate, open and start say that no browser runs', async () => {
  await using app = await testBrowser();
  await assert.rejects(app.bus.call('browser.snapshot', {}), { code: 'FAILED_PRECONDITION', message: /browser\.navigate/ });
  assert.deepEqual(await app.bus.call('browser.stop', {}), { stopped: true });
});

test('navigates, shows a page without its passwords, and acts on its elements', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': FORM, '/second': '<title>Second</title><p>two</p>' });
  await using app = await testBrowser();
  assert.deepEqual(await app.bus.call('browser.navigate', { url: 'http://site.example/' }), {
    url: 'http://site.example/',
    title: 'Form',
    tabId: 'tab_1',
  });
  const { snapshot, refs, stats, truncated } = await app.bus.call('browser.snapshot', {});
  assert.match(snapshot, /heading "Order"/);
  assert.doesNotMatch(snapshot, /hunter2|invisible words|\/second/);
  assert.match(snapshot, /button "Never" \[disabled\]/);
  assert.equal(truncated, false);
  assert.equal(stats.interactive, Object.keys(refs).length);
  const ref = (role: string, name: string): string => {
    const found = Object.entries(refs).find(([, entry]) => entry.role === role && entry.name === name)?.[0];
    assert.ok(found, `${role} ${name} in ${snapshot}`);
    return found;
  };
  const act = (params: Parameters<typeof app.bus.call<'browser.act'>>[1]) => app.bus.call('browser.act', params);
  assert.deepEqual(await act({ action: 'type', selector: ref('textbox', 'Name'), text: 'Ada' }), { ok: true, action: 'type' });
  assert.equal((await act({ action: 'select', selector: ref('combobox', 'Size'), value: 'Large' })).ok, true);
  assert.equal((await act({ action: 'fill', fields: [{ ref: ref('checkbox', 'Agree'), value: true }] })).ok, true);
  assert.equal((await act({ action: 'click', selector: `@${ref('button', 'Send')}` })).ok, true);
  assert.equal((await app.bus.call('browser.tabs', {})).tabs[0]?.title, 'Sent Ada');
  assert.match((await act({ action: 'click', selector: ref('button', 'Never') })).error ?? '', /disabled/);
  assert.match((await act({ action: 'click', selector: 'button' })).error ?? '', /2 elements match/);
  assert.match((await act({ action: 'click', selector: 'e1; drop' })).error ?? '', /e1; drop/);
  assert.match((await act({ action: 'evaluate', text: '1' })).error ?? '', /browser\.evaluateEnabled/);
  await assert.rejects(act({ action: 'click' }), { code: 'INVALID_ARGUMENT', message: /selector/ });
  const link = ref('link', 'Second');
  assert.equal((await act({ action: 'click', selector: link })).url, 'http://site.example/second');
  assert.match((await act({ action: 'click', selector: link })).error ?? '', /take a new snapshot/);
});

test('keeps sessions, agents and clients apart', TIMEOUT, async () => {
  await using outside = await startOutside({
    '/favicon.ico': '',
    '/': '<title>One</title><script>console.log("mine"); document.cookie = "a=1"</script>',
  });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  for (const fields of [{ client: 'other' }, { agent: 'writer' }, { session: 'second' }, { tenant: 'elsewhere' }]) {
    const other = app.bus.as(principal(fields));
    assert.deepEqual(await other.call('browser.status', {}), { running: false }, JSON.stringify(fields));
    await other.call('browser.start', {});
    assert.deepEqual(await other.call('browser.tabs', {}), { tabs: [] });
    assert.deepEqual(await other.call('browser.console', {}), { entries: [] });
    await assert.rejects(other.call('browser.focus', { tabId: 'tab_1' }), { code: 'NOT_FOUND' });
  }
  assert.deepEqual(
    (await app.bus.call('browser.console', {})).entries.map(({ text }) => text),
    ['mine'],
  );
  assert.ok(outside.requests.length > 0);
});

test('opens, focuses and closes tabs; an id is never used again', TIMEOUT, async () => {
  await using app = await testBrowser();
  assert.deepEqual(await app.bus.call('browser.open', {}), { tabId: 'tab_1' });
  assert.deepEqual(await app.bus.call('browser.open', {}), { tabId: 'tab_2' });
  assert.deepEqual(await app.bus.call('browser.focus', { tabId: 'tab_1' }), { focused: true, tabId: 'tab_1' });
  assert.deepEqual(await app.bus.call('browser.close', { tabId: 'tab_2' }), { closed: true, tabId: 'tab_2' });
  await assert.rejects(app.bus.call('browser.close', { tabId: 'tab_2' }), { code: 'NOT_FOUND' });
  assert.deepEqual(await app.bus.call('browser.open', {}), { tabId: 'tab_3' });
  assert.deepEqual(await app.bus.call('browser.stop', {}), { stopped: true });
  assert.deepEqual(await app.bus.call('browser.status', {}), { running: false });
});

test('takes screenshots and prints pages', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': '<body style="margin:0"><div id="tall" style="height:100000px">tall</div>' });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const viewport = await app.bus.call('browser.screenshot', {});
  assert.deepEqual([viewport.width, viewport.height, viewport.mimeType], [1280, 720, 'image/png']);
  const png = Buffer.from(viewport.data, 'base64');
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1280, 720]);
  const whole = await app.bus.call('browser.screenshot', { fullPage: true, type: 'jpeg' });
  assert.deepEqual([whole.height, whole.mimeType], [2000, 'image/jpeg']);
  assert.match(Buffer.from((await app.bus.call('browser.pdf', {})).data, 'base64').toString('latin1'), /^%PDF-/);
});
