import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowserProxy } from './chromium/browser-proxy.ts';
import { findChromium } from './chromium/find-chromium.ts';
import { launchChromium } from './chromium/launch-chromium.ts';
import { chromiumMissing, startOutside } from './browser.fixture.ts';
import { takeSnapshot } from './pages/take-snapshot.ts';
import { readSavedPages } from './saved-pages.fixture.ts';
import { createRefs } from './sessions/refs.ts';
import type { Tab } from './sessions/tab.ts';

const MAX_RATIO = 0.5;
const MAX_INTERACTIVE_RATIO = 0.2;
/** A third of the pages are tiny, and their snapshots hardly shrink. Fewer pages than these have too many of them for the median. */
const MIN_PAGES_OF_MEDIAN = 40;
const MAX_RATIO_OF_FEW = 0.65;
/** Names of references are cut. */
const MAX_NAME_CHARS = 256;
/** Pages are measured for this time, so that a slow machine measures fewer of them. */
const BUDGET_MS = 60_000;
const MIN_PAGES = 5;
const PAGE_TIMEOUT_MS = 10_000;

const countWords = (text: string): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
};

/** Returns the share of the words that the snapshot has too. */
function measureCoverage(visible: string, snapshot: string): number {
  const [expected, shown] = [countWords(visible), countWords(snapshot)];
  let [all, found] = [0, 0];
  for (const [word, count] of expected) {
    all += count;
    found += Math.min(count, shown.get(word) ?? 0);
  }
  return all === 0 ? 1 : found / all;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const TARGET_LINE = /^ *- (')?(?:link|button|checkbox|radio|combobox|option|tab|switch) "((?:[^"\\]|\\.)*)".*\[ref=/gm;

/** Returns the names of the targets of the bare snapshot that the other one does not have. */
function listLostTargets(bare: string, refs: Readonly<Record<string, { name?: string | undefined }>>): string[] {
  const known = new Map<string, number>();
  for (const { name = '' } of Object.values(refs)) known.set(name, (known.get(name) ?? 0) + 1);
  return [...bare.matchAll(TARGET_LINE)].flatMap(([, quote, text = '']) => {
    const unquoted = quote === undefined ? text : text.replaceAll("''", "'");
    const name = (JSON.parse(`"${unquoted}"`) as string).slice(0, MAX_NAME_CHARS);
    const left = known.get(name) ?? 0;
    known.set(name, left - 1);
    return left > 0 ? [] : [name];
  });
}

test('snapshots keep the visible words and all targets of saved pages, in fewer characters', { timeout: 400_000 }, async (t) => {
  if (chromiumMissing !== undefined) return t.skip(chromiumMissing);
  const pages = await readSavedPages().catch((error: unknown) => error as Error);
  if (pages instanceof Error) return t.skip(`the test pages cannot be fetched: ${pages.message.split('\n', 1)[0]}`);
  await using _outside = await startOutside(Object.fromEntries([...pages].map(([name, source]) => [`/${name}`, source])));
  const security = { egress: { allowHosts: [] }, permission: { allowedNetHosts: [] } };
  await using proxy = await startBrowserProxy(
    () => security as never,
    () => false,
  );
  const program = await findChromium(undefined, process.env['PATH'] ?? '');
  const chromium = await launchChromium({ program, proxy: proxy.url });
  const results: { name: string; coverage: number; ratio: number; interactive: number; lost: string[] }[] = [];
  try {
    // Scripts of saved pages ask for servers that are gone and change the page meanwhile.
    const context = await chromium.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    const numbers = { ref: 1 };
    const tab: Tab = {
      id: 'tab_1',
      page,
      refs: createRefs(() => numbers.ref++),
      happenings: { dialogs: [], downloads: [] },
      requested: '',
      navigating: false,
    };
    const startedAt = performance.now();
    for (const name of pages.keys()) {
      if (performance.now() - startedAt > BUDGET_MS) break;
      await page.goto(`http://site.example/${name}`, { waitUntil: 'domcontentloaded', timeout: PAGE_TIMEOUT_MS });
      const options = { maxChars: 8_000_000, timeoutMs: PAGE_TIMEOUT_MS };
      const bare = await page.ariaSnapshot({ mode: 'ai' });
      if (bare === '') continue; // The page hides its content until its scripts run.
      const { snapshot, refs } = await takeSnapshot(tab, { ...options, params: {} });
      const interactive = await takeSnapshot(tab, { ...options, params: { interactive: true } });
      const visible = await page.locator('body').innerText();
      // A page may still change while it loads its styles. A target is lost if it was there before and afterwards.
      const after = await page.ariaSnapshot({ mode: 'ai' });
      const listLost = (shown: typeof refs): string[] => {
        const lostAfter = new Set(listLostTargets(after, shown));
        return listLostTargets(bare, shown).filter((target) => lostAfter.has(target));
      };
      results.push({
        name,
        coverage: measureCoverage(visible, snapshot),
        ratio: snapshot.length / bare.length,
        interactive: interactive.snapshot.length / bare.length,
        lost: [...listLost(refs), ...listLost(interactive.refs)],
      });
    }
  } finally {
    await chromium.close();
  }
  const worst = results.toSorted((a, b) => a.coverage - b.coverage).slice(0, 5);
  t.diagnostic(`${results.length} pages: words ${median(results.map(({ coverage }) => coverage)).toFixed(3)} (median)`);
  t.diagnostic(
    `default ${median(results.map(({ ratio }) => ratio)).toFixed(3)}, interactive ${median(results.map((one) => one.interactive)).toFixed(3)} of the bare snapshot`,
  );
  t.diagnostic(`fewest words: ${worst.map(({ name, coverage }) => `${name} ${coverage.toFixed(3)}`).join(', ')}`);
  assert.ok(results.length >= MIN_PAGES, `only ${results.length} pages were measured`);
  assert.deepEqual(
    results.filter(({ lost }) => lost.length > 0),
    [],
  );
  assert.ok(median(results.map(({ coverage }) => coverage)) >= 0.98);
  assert.ok(median(results.map(({ ratio }) => ratio)) <= (results.length < MIN_PAGES_OF_MEDIAN ? MAX_RATIO_OF_FEW : MAX_RATIO));
  assert.ok(median(results.map((one) => one.interactive)) <= MAX_INTERACTIVE_RATIO);
});
