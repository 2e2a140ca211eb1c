import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

const FORM = `<title>Form</title>
  <input type="date" id="date"><input type="time" id="time"><input type="color" id="color"><input type="range" id="range" min="0" max="10">
  <div contenteditable id="note" style="width:200px;height:40px">old</div><input type="checkbox" id="agree">
  <button role="combobox" aria-controls="fruits" aria-expanded="false" id="fruit">Fruit</button>
  <ul role="listbox" id="fruits" hidden><li role="option">Apple</li><li role="option" data-value="p">Pear</li></ul>
  <ul role="listbox" id="sizes" aria-label="Sizes"><li role="option">Small</li><li role="option">Large</li></ul>
  <div draggable="true" id="card" style="width:80px;height:30px">card</div><div id="bin" style="width:200px;height:80px">bin</div>
  <a href="data:text/plain,hello" download="hello.txt" id="file">file</a><a href="/next" target="_blank" id="new">new</a>
  <button id="ask" onclick="confirm('sure?')">ask</button>
  <script>
    const $ = (id) => document.getElementById(id);
    $('fruit').onclick = () => { $('fruits').hidden = false; $('fruit').setAttribute('aria-expanded', 'true'); };
    for (const option of document.querySelectorAll('[role=option]')) option.onclick = (event) => {
      option.setAttribute('aria-selected', String(event.isTrusted)); document.body.dataset[option.parentElement.id] = option.textContent; };
    $('card').ondragstart = (event) => event.dataTransfer.setData('text', 'the card');
    $('bin').ondragover = (event) => event.preventDefault();
    $('bin').ondrop = (event) => { event.preventDefault(); $('bin').textContent = event.dataTransfer.getData('text'); };
  </script>`;

test('fills fields of every kind, selects in ARIA lists, drags, and reports what came of it', TIMEOUT, async (t) => {
  await using _outside = await startOutside({ '/': FORM, '/next': '<title>Next</title>' });
  await using app = await testBrowser({ settings: { browser: { evaluateEnabled: true } } });
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const act = async (params: Parameters<typeof app.bus.call<'browser.act'>>[1]) => {
    const result = await app.bus.call('browser.act', params);
    assert.equal(result.ok, true, `${JSON.stringify(params)}: ${result.error}`);
    return result;
  };
  const fields = { '#date': '2026-05-01', '#time': '09:30', '#color': '#ff8800', '#range': '7', '#note': 'new note', '#agree': 'true' };
  await act({ action: 'fill', fields: Object.entries(fields).map(([ref, value]) => ({ ref, value })) });
  await act({ action: 'select', selector: '#fruit', value: 'p' });
  await act({ action: 'select', selector: '#sizes', value: 'Large' });
  await act({ action: 'drag', selector: '#card', endSelector: '#bin' });
  const state =
    '[...["date", "time", "color", "range"].map((id) => $(id).value), $("note").innerText, $("agree").checked, { ...document.body.dataset }, $("bin").innerText]';
  const { value } = await act({ action: 'evaluate', text: state });
  const expected = ['2026-05-01', '09:30', '#ff8800', '7', 'new note', true, { fruits: 'Pear', sizes: 'Large' }, 'the card'];
  assert.deepEqual(JSON.parse(value ?? ''), expected);
  assert.deepEqual((await act({ action: 'click', selector: '#ask' })).dialogs, ['confirm dismissed: sure?']);
  // On a busy machine Chromium may begin the download after the answer.
  const download = async () => assert.deepEqual((await act({ action: 'click', selector: '#file' })).downloads, ['hello.txt']);
  await t.waitFor(download, { timeout: 120_000 });
  assert.deepEqual((await act({ action: 'click', selector: '#new' })).openedTabs, ['tab_2']);
  const missing = await app.bus.call('browser.act', { action: 'select', selector: '#sizes', value: 'Huge' });
  assert.match(missing.error ?? '', /no option "Huge": take a new snapshot/);
});

test(
  'reports a new tab whose server does not answer; the tab can be closed, and it can be used once the server answers',
  TIMEOUT,
  async () => {
    const answers: (() => void)[] = [];
    const arrived = Promise.withResolvers<void>();
    await using _outside = await startOutside({
      '/': '<title>Opener</title><a href="/slow" target="_blank" id="slow">slow</a>',
      '/slow': (_, response) => {
        answers.push(() => response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Slow</title>'));
        arrived.resolve();
      },
    });
    await using app = await testBrowser();
    await app.bus.call('browser.navigate', { url: 'http://site.example/' });
    const click = () => app.bus.call('browser.act', { action: 'click', selector: '#slow' });
    assert.deepEqual(await click(), { ok: true, action: 'click', openedTabs: ['tab_2'] });
    assert.deepEqual(
      (await app.bus.call('browser.tabs', {})).tabs.map(({ id }) => id),
      ['tab_1', 'tab_2'],
    );
    assert.deepEqual(await app.bus.call('browser.close', { tabId: 'tab_2' }), { closed: true, tabId: 'tab_2' });
    await assert.rejects(app.bus.call('browser.focus', { tabId: 'tab_2' }), { code: 'NOT_FOUND' });
    assert.deepEqual((await click()).openedTabs, ['tab_3']);
    await arrived.promise;
    const focus = app.bus.call('browser.focus', { tabId: 'tab_3' });
    for (const answer of answers) answer();
    assert.deepEqual(await focus, { focused: true, tabId: 'tab_3' });
    assert.equal((await app.bus.call('browser.snapshot', {})).title, 'Slow');
  },
);

test('reports tabs that a page opens while its databases may be read, and no tab of the driver', TIMEOUT, async () => {
  const page = `<title>Opener</title><button>go</button><script>
    const request = indexedDB.open('store', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('rows');
    request.onsuccess = () => {
      request.result.transaction('rows', 'readwrite').objectStore('rows').put('x'.repeat(100_000), 1).onsuccess = () => (document.title = 'Stored');
    };
    let delay = 0;
    document.querySelector('button').onclick = () => setTimeout(() => open('/slow'), delay += 200);</script>`;
  const answers: (() => void)[] = [];
  await using _outside = await startOutside({
    '/': page,
    '*': (_, response) => void answers.push(() => response.end('<title>Slow</title>')),
  });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const listTabs = async () => (await app.bus.call('browser.tabs', {})).tabs;
  while ((await listTabs())[0]?.title !== 'Stored') await app.bus.call('browser.act', { action: 'wait', timeMs: 50 });
  for (let tabs = 2; tabs <= 4; tabs++) {
    // The databases are read after the click, and the page opens the tab a little later.
    await app.bus.call('browser.act', { action: 'click', selector: 'button' });
    while ((await listTabs()).length < tabs) await app.bus.call('browser.act', { action: 'wait', timeMs: 50 });
  }
  assert.deepEqual(
    (await listTabs()).map(({ id }) => id),
    ['tab_1', 'tab_2', 'tab_3', 'tab_4'],
  );
  for (const answer of answers) answer();
});
