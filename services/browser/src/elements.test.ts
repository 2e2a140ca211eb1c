import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

const PAGE = `<title>Elements</title><body style="margin:0">
  <button id="hidden" style="display:none">Hidden</button>
  <div style="position:relative"><button id="under" style="width:90px;height:30px">Under</button>
    <div id="veil" aria-label="Veil" style="position:absolute;left:0;top:0;width:200px;height:40px"></div></div>
  <button id="gone">Gone</button><button onclick="document.querySelector('#gone').remove()">Remove</button>
  <iframe srcdoc="<button>Inside</button>"></iframe><iframe src="http://other.example/frame"></iframe>
  <div id="host"></div><a href="/second">Second</a>
  <div id="trusted">Trusted</div>
  <script>host.attachShadow({ mode: 'open' }).innerHTML = '<button>Shadow</button>';
    trusted.onclick = (event) => { document.title = 'trusted ' + event.isTrusted; };</script>`;

test('tells apart why an element cannot be used, at once', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': PAGE, '/frame': '<button>Elsewhere</button>', '/second': '<title>Second</title>' });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const click = async (selector: string) => app.bus.call('browser.act', { action: 'click', selector });
  const explain = async (selector: string): Promise<string> => {
    const startedAt = performance.now();
    const { ok, error } = await click(selector);
    assert.equal(ok, false, selector);
    // The driver itself would wait for 8 s.
    assert.ok(performance.now() - startedAt < 6_000, `${selector} took ${performance.now() - startedAt} ms`);
    return error ?? '';
  };
  const { refs, snapshot } = await app.bus.call('browser.snapshot', {});
  const find = (name: string): string => Object.keys(refs).find((ref) => refs[ref]?.name === name) ?? assert.fail(`${name}: ${snapshot}`);
  assert.match(await explain('#hidden'), /hidden: take a new snapshot/);
  assert.match(await explain('#under'), /covered by <div id="veil"> "Veil"/);
  assert.match(await explain('button['), /button\[/);
  assert.match(await explain('e999'), /take a new snapshot/);
  for (const name of ['Inside', 'Elsewhere', 'Shadow']) assert.equal((await click(find(name))).ok, true, name);
  assert.doesNotMatch(snapshot, /\/second/);
  assert.match((await app.bus.call('browser.snapshot', { links: true })).snapshot, /link "Second" .*second/);
  const { refs: latest } = await app.bus.call('browser.snapshot', {});
  const gone = Object.keys(latest).find((ref) => latest[ref]?.name === 'Gone') ?? assert.fail('Gone');
  const remove = Object.keys(latest).find((ref) => latest[ref]?.name === 'Remove') ?? assert.fail('Remove');
  assert.equal((await click(remove)).ok, true);
  assert.match(await explain(gone), /take a new snapshot/);
  await click('#trusted');
  assert.equal((await app.bus.call('browser.tabs', {})).tabs[0]?.title, 'trusted true');
  await app.bus.call('browser.open', { url: 'http://site.example/' });
  assert.match(await explain(remove), /take a new snapshot/, 'a reference of another tab');
});

test('a snapshot that is too long ends with a line, and says how much is missing', TIMEOUT, async () => {
  const rows = Array.from({ length: 200 }, (_, at) => `<p>Paragraph ${at}</p><button>Button ${at}</button>`).join('');
  await using _outside = await startOutside({ '/': `<title>Long</title><main>${rows}</main><section id="end"><h2>End</h2></section>` });
  await using app = await testBrowser();
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const { snapshot, truncated, stats, refs } = await app.bus.call('browser.snapshot', { maxChars: 1_000 });
  assert.equal(truncated, true);
  assert.ok(snapshot.length <= 1_000);
  assert.match(snapshot, /\n… \d+ more lines \(\d+ characters\)\. Pass interactive, a selector or a larger maxChars\.$/);
  assert.equal(Object.keys(refs).length, stats.refs);
  for (const ref of Object.keys(refs)) assert.ok(snapshot.includes(ref), ref);
  assert.match((await app.bus.call('browser.snapshot', { selector: '#end' })).snapshot, /^- heading "End"/m);
  await assert.rejects(app.bus.call('browser.snapshot', { selector: '#end[' }), { code: 'INVALID_ARGUMENT', message: /selector/ });
  const interactive = await app.bus.call('browser.snapshot', { interactive: true });
  assert.equal(interactive.stats.refs, 200);
  assert.doesNotMatch(interactive.snapshot, /Paragraph/);
});
