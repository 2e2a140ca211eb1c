import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { getOverflow, openDashboard, openWithToken, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { call, mint } from './exchange.ts';

/** Markup, links that run scripts, right-to-left text, emoji, and one word that is longer than any screen. */
const HOSTILE = `<script>globalThis.pwned=1</script><img src=x onerror="pwned=1">[a](javascript:pwned=1) \u202eabc עברית 👩‍👩‍👧 ${'x'.repeat(1_500)}`;
const DAY_MS = 86_400_000;

describe('the dashboard with hostile data and settings', { skip, timeout: 300_000 }, () => {
  let dashboard: DashboardBrowser;
  let titles: string[];

  before(async () => {
    dashboard = await openDashboard();
    const { product, page } = dashboard;
    await call(product, 'agent.execute', { message: HOSTILE, sessionKey: { channelId: 'x'.repeat(128) } });
    await call(product, 'memory.store', { content: HOSTILE });
    await call(product, 'cron.add', { name: 'job', message: HOSTILE, schedule: { kind: 'interval', everyMs: 3_600_000 } });
    await call(product, 'graph.define', { label: HOSTILE.slice(0, 200), nodes: [{ node_id: 'a', task: HOSTILE }] });
    await call(product, 'config.set', { section: 'gateway', key: 'maxBatchSize', value: 42, message: HOSTILE.slice(0, 400) });
    titles = await page.getByRole('navigation').getByRole('link').allTextContents();
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('text of others is text on every page, and no page is wider than its window', async () => {
    const { page, faults } = dashboard;
    await page.setViewportSize({ width: 1_280, height: 800 });
    for (const title of titles) {
      await visit(page, title);
      assert.equal(await getOverflow(page), 0, title);
    }
    await visit(page, 'Sessions');
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').first().click();
    await page.getByText('<script>globalThis.pwned=1</script>').first().waitFor();
    assert.equal(await page.evaluate('globalThis.pwned'), undefined);
    assert.deepEqual(faults, []);
  });

  test('every page fits a window of 320 pixels, which is 400 % of zoom', async () => {
    const { page } = dashboard;
    await page.setViewportSize({ width: 320, height: 256 });
    for (const title of titles) {
      await visit(page, title);
      assert.equal(await getOverflow(page), 0, title);
    }
    await page.setViewportSize({ width: 1_280, height: 800 });
  });

  for (const days of [1, -1])
    test(`works while the browser denies storage, and with a clock that is off by ${days} day`, async () => {
      const { browser, openTab, printLink } = dashboard;
      await using context = await browser.newContext();
      await context.addInitScript(`
        for (const name of ['sessionStorage', 'localStorage'])
          Object.defineProperty(globalThis, name, { get() { throw new DOMException('denied', 'SecurityError'); } });
        const now = Date.now;
        Date.now = () => now() + ${days * DAY_MS};
      `);
      const page = await openTab(context);
      await page.goto(await printLink());
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      await visit(page, 'Agents');
      await page.getByRole('button', { name: 'default', exact: true }).waitFor();
      await visit(page, 'Cost');
      assert.deepEqual(dashboard.faults, []);
    });

  test('a token with the scope rpc alone has no action that needs another one, and is told which', async () => {
    const page = await openWithToken(dashboard, { ...(await mint(dashboard.product, 'rpc')), scopes: ['rpc'] }, '/schedule');
    await using _context = page.context();
    await page.getByRole('button', { name: 'Details' }).waitFor();
    await page.getByText('has no scope admin, which heartbeat.states requires').waitFor();
    for (const title of ['Configuration', 'Agents', 'Secrets', 'Tokens', 'Cost']) {
      await visit(page, title);
      await page.getByText('has no scope admin').first().waitFor();
      assert.equal(await page.getByRole('main').getByRole('button').count(), 0, title);
    }
  });
});
