import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDashboard, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { takeFaults } from './dashboard-views.ts';
import { call } from './exchange.ts';

describe('live events of the dashboard', { skip, timeout: 240_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard();
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  const sendTurn = (channelId: string) => call(dashboard.product, 'agent.execute', { message: 'hello', sessionKey: { channelId } });

  test('Pause keeps the shown events while others arrive, and they appear when it is released', async () => {
    const { page, openTab, product } = dashboard;
    const other = await openTab();
    await other.goto(`${product.url}/app/live`);
    await visit(page, 'Live events');
    await sendTurn('before-pause');
    for (const one of [page, other]) await one.getByRole('main').getByText('before-pause').first().waitFor();
    const pause = page.getByRole('button', { name: 'Pause', exact: true });
    await pause.click();
    await page.getByRole('button', { name: 'Pause', exact: true, pressed: true }).waitFor();
    await sendTurn('after-pause');
    await other.getByRole('main').getByText('after-pause').first().waitFor();
    await page.getByLabel('Filter').fill('pause');
    await page.getByRole('main').getByText('before-pause').first().waitFor();
    assert.equal(await page.getByRole('main').getByText('after-pause').count(), 0);
    await pause.click();
    await page.getByRole('main').getByText('after-pause').first().waitFor();
    await page.getByLabel('Filter').fill('');
    await other.close();
  });

  test('a selected event is in the address and stays shown while others arrive; an unknown one is named as such', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Live events');
    await sendTurn('selected');
    const row = page.getByRole('button').filter({ hasText: 'message:sent' }).filter({ hasText: 'selected' });
    await row.first().click();
    const event = page.getByRole('region', { name: /^Event / });
    await event.locator('pre').getByText('selected').waitFor();
    assert.match(page.url(), /event=/);
    await sendTurn('meanwhile');
    await page.getByRole('main').getByText('meanwhile').first().waitFor();
    assert.ok(await event.locator('pre').getByText('selected').isVisible());
    await page.goto(`${product.url}/app/live?event=none`);
    await page.getByRole('region', { name: 'Event none' }).getByText('This browser has not received the event').waitFor();
    assert.deepEqual(takeFaults(dashboard.faults), []);
  });
});
