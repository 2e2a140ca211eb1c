import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDashboard, skip, waitUntilLoaded, type DashboardBrowser } from './dashboard-browser.ts';
import { failCalls } from './dashboard-intercept.ts';
import { takeFaults } from './dashboard-views.ts';
import { call } from './exchange.ts';

describe('a chat of the dashboard whose messages cannot be read', { skip, timeout: 240_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard();
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('says so, and Try again reads them', async () => {
    const { page, product } = dashboard;
    await call(product, 'agent.execute', { message: 'hello', sessionKey: { channelId: 'restored' } });
    await failCalls(page, new Set(['session.history']));
    await page.goto(`${product.url}/app/chat?session=default:first:restored`);
    const failure = page.getByRole('main').getByRole('alert').filter({ hasText: 'The service does not answer.' });
    await failure.waitFor();
    assert.equal(await page.locator('.mine').count(), 0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await failure.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.mine').getByText('hello').waitFor();
    await waitUntilLoaded(page);
    assert.equal(await failure.count(), 0);
    assert.deepEqual(takeFaults(dashboard.faults), []);
  });
});
