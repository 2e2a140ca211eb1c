import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openDashboard, openWithToken, skip, waitUntilLoaded, type DashboardBrowser } from './dashboard-browser.ts';
import { checkThemesAndWidths, takeFaults } from './dashboard-views.ts';
import { createData, DATA_OPTIONS, waitForApprovals } from './dashboard-data.ts';
import { failCalls, holdCalls, setServices } from './dashboard-intercept.ts';
import { mint } from './exchange.ts';

/** A state of all pages. */
interface PageState {
  name: string;
  /** Brings the product, or the answers that the page gets, into this state. */
  arrange: (dashboard: DashboardBrowser) => Promise<unknown>;
  /** Waits until the page shows the state, or fails. */
  shows: (page: Page, title: string) => Promise<unknown>;
  /** Whether each page is loaded anew, so that no call of another page has ended. */
  isolated?: true;
}

const MANY = 40;
/** Pages that list records which `createData` creates. */
const LISTS = new Set(['Sessions', 'Runs', 'Sub-agents', 'Approvals', 'Graphs', 'Memory', 'Skills']);
const RECORDS = 'main .row, main tbody tr, main article';
/** Pages that show something without a call to a service: schemas and the event stream. */
const WITHOUT_CALLS = new Set(['API explorer', 'Live events', 'Log levels']);
/** The gateway serves the audit log itself, and it always answers. */
const WITHOUT_SERVICE = new Set([...WITHOUT_CALLS, 'Audit']);

const STATES: readonly PageState[] = [
  { name: 'empty', arrange: () => Promise.resolve(), shows: (page, title) => showRecords(page, title, (count) => count === 0) },
  {
    name: 'one record',
    arrange: ({ product }) => createData(product, 'one', 1),
    shows: (page, title) => showRecords(page, title, (count) => count > 0),
  },
  {
    name: 'many records',
    async arrange({ product }) {
      await createData(product, 'many', MANY);
      await waitForApprovals(product, 10);
    },
    // Lists render the visible rows only.
    shows: (page, title) => showRecords(page, title, (count) => count > 4),
  },
  {
    name: 'loading',
    arrange: ({ page }) => holdCalls(page),
    shows: (page, title) => (WITHOUT_CALLS.has(title) ? waitUntilLoaded(page) : page.locator('main .loading').first().waitFor()),
    isolated: true,
  },
  {
    name: 'failing',
    arrange: ({ page }) => failCalls(page),
    shows: (page, title) => (WITHOUT_CALLS.has(title) ? waitUntilLoaded(page) : page.locator('main').getByRole('alert').first().waitFor()),
  },
  {
    name: 'not installed',
    arrange: ({ page }) => setServices(page, 'absent'),
    shows: (page, title) =>
      WITHOUT_SERVICE.has(title) ? waitUntilLoaded(page) : page.getByText('is not installed here').first().waitFor(),
  },
  {
    name: 'not answering',
    arrange: ({ page }) => setServices(page, 'down'),
    shows: (page, title) =>
      WITHOUT_SERVICE.has(title) ? waitUntilLoaded(page) : page.getByText('is installed and does not answer').first().waitFor(),
  },
];

describe('states of the pages of the dashboard', { skip, timeout: 1_200_000 }, () => {
  let dashboard: DashboardBrowser;
  let pages: { title: string; path: string }[];

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    const links = await dashboard.page.getByRole('navigation').getByRole('link').all();
    pages = await Promise.all(
      links.map(async (link) => ({ title: (await link.textContent()) ?? '', path: (await link.getAttribute('href')) ?? '' })),
    );
    assert.ok(pages.length > 20);
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  for (const { name, arrange, shows, isolated } of STATES)
    test(`${name}: no error, and axe-core finds nothing, in both themes and widths`, async () => {
      const { page, product, faults } = dashboard;
      await arrange(dashboard);
      await page.goto(`${product.url}/app/`);
      for (const { title, path } of pages) {
        if (isolated) await page.goto(product.url + path);
        else await page.getByRole('navigation').getByRole('link', { name: title, exact: true }).click();
        await page.getByRole('heading', { level: 1, name: title }).waitFor();
        await shows(page, title);
        await checkThemesAndWidths(page, name, title);
      }
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      assert.deepEqual(takeFaults(faults), []);
    });

  test('forbidden: no error, and axe-core finds nothing, in both themes and widths', async () => {
    const page = await openWithToken(dashboard, { ...(await mint(dashboard.product, 'rpc')), scopes: ['rpc'] });
    await using _context = page.context();
    let count = 0;
    for (const { title } of pages) {
      await page.getByRole('navigation').getByRole('link', { name: title, exact: true }).click();
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await waitUntilLoaded(page);
      count += await page.getByText('has no scope admin').count();
      await checkThemesAndWidths(page, 'forbidden', title);
    }
    assert.ok(count > 5);
    assert.deepEqual(takeFaults(dashboard.faults), []);
  });
});

async function showRecords(page: Page, title: string, accept: (count: number) => boolean): Promise<void> {
  await waitUntilLoaded(page);
  if (!LISTS.has(title)) return;
  const records = page.locator(RECORDS);
  const deadline = Date.now() + 20_000;
  while (!accept(await records.count())) {
    assert.ok(Date.now() < deadline, `${title} shows ${await records.count()} records`);
    await page.waitForTimeout(100);
  }
}
