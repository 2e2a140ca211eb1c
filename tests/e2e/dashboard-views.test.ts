import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDashboard, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { createData, DATA_OPTIONS } from './dashboard-data.ts';
import { failCalls } from './dashboard-intercept.ts';
import { checkThemesAndWidths, takeFaults } from './dashboard-views.ts';

/** A few pages; the others are checked by the full tests. */
const TITLES = ['Sessions', 'Schedule'];

describe('some pages of the dashboard', { skip, timeout: 120_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    await createData(dashboard.product, 'one', 1);
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('one record: no error, and axe-core finds nothing, in both themes and widths', async () => {
    const { page, faults } = dashboard;
    for (const title of TITLES) {
      await visit(page, title);
      await page.getByText('one-0').first().waitFor();
      await checkThemesAndWidths(page, 'one record', title);
    }
    assert.deepEqual(faults, []);
  });

  test('failing: the pages say so, no error, and axe-core finds nothing', async () => {
    const { page, product, faults } = dashboard;
    await failCalls(page);
    await page.goto(`${product.url}/app/schedule`);
    await page.getByRole('main').getByRole('alert').first().waitFor();
    await checkThemesAndWidths(page, 'failing', 'Schedule');
    assert.deepEqual(takeFaults(faults), []);
  });
});
