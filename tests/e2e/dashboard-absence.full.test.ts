import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { contracts } from '@switchyard/contracts';
import { openDashboard, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { createData, DATA_OPTIONS } from './dashboard-data.ts';
import { failCalls, setServices, setUnserved } from './dashboard-intercept.ts';

/** A page recovers within some seconds, and the pauses between its attempts grow. */
const RECOVERY_MS = 60_000;

describe('the absence of a service on the dashboard', { skip, timeout: 240_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    await createData(dashboard.product, 'one', 1);
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('a service that stops answering: its page keeps the last data, others are not affected, and it recovers by itself', async () => {
    const { page } = dashboard;
    await visit(page, 'Schedule');
    const row = page.getByRole('cell', { name: 'one-0' });
    await row.waitFor();
    await setServices(page, 'down', 'scheduler');
    await failCalls(page, new Set(Object.keys(contracts.scheduler.methods)));
    await visit(page, 'Models');
    await page.getByRole('navigation').getByRole('link', { name: 'Schedule', exact: true }).click();
    const notice = page.getByText(/scheduler is installed and does not answer, seen here since .*\d/);
    await notice.first().waitFor();
    assert.ok(await page.locator('.stale').getByRole('cell', { name: 'one-0' }).isVisible());
    assert.match((await page.getByRole('main').textContent()) ?? '', /Shown: the state of .*\d/);
    for (const title of ['Models', 'Agents', 'Graphs']) {
      await visit(page, title);
      assert.equal(await page.getByRole('main').getByRole('alert').count(), 0, title);
    }
    await visit(page, 'Schedule');
    await notice.first().waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await notice.first().waitFor({ state: 'detached', timeout: RECOVERY_MS });
    await page.getByRole('main').getByRole('alert').first().waitFor({ state: 'detached', timeout: RECOVERY_MS });
    assert.ok(await row.isVisible());
  });

  test('a service that is not installed: its page names the chart and the command, and no other page does', async () => {
    const { page, product } = dashboard;
    await setServices(page, 'absent', 'graph');
    await page.goto(`${product.url}/app/graphs`);
    await page.getByText('helm install switchyard-graph').first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Define' }).count(), 0);
    for (const title of ['Schedule', 'Agents']) {
      await visit(page, title);
      assert.equal(await page.getByText('is not installed here').count(), 0, title);
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('a method that this version does not serve: its page says so', async () => {
    const { page, product } = dashboard;
    await setUnserved(page, 'memory.browse');
    await page.goto(`${product.url}/app/memory`);
    await page.getByText('This version does not serve memory.browse.').waitFor();
    await visit(page, 'Schedule');
    await page.getByRole('cell', { name: 'one-0' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    assert.deepEqual(dashboard.faults, []);
  });
});
