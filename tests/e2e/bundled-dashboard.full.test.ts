import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDashboard, sendMessage, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';

describe('the bundled dashboard', { skip, timeout: 180_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard();
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('opens signed in by a link that works once, and keeps the ticket out of the address', async () => {
    const { page, product, browser, printLink, openTab } = dashboard;
    assert.equal(page.url(), `${product.url}/app/`);
    await page.getByRole('cell', { name: 'sessions', exact: true }).waitFor();
    assert.equal(await page.evaluate('localStorage.length'), 0);
    const link = await printLink();
    await using first = await browser.newContext();
    const used = await openTab(first);
    await used.goto(link);
    await used.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await using other = await browser.newContext();
    const second = await other.newPage();
    await second.goto(link);
    await second.getByRole('alert').getByText('used already').waitFor();
  });

  test('streams an answer, and shows its events, its session, its messages and its steps', async () => {
    const { page } = dashboard;
    await sendMessage(page, 'hello <script>alert(1)</script>');
    await page.getByRole('link', { name: 'Steps of this turn' }).click();
    await page
      .getByRole('region', { name: /^Steps of turn_/ })
      .getByRole('rowheader', { name: '1' })
      .waitFor();
    await page.getByText('0 tool failures across 1 turn').waitFor();
    await visit(page, 'Home');
    await page.getByRole('region', { name: 'Latest turns' }).getByRole('link').first().waitFor();
    await visit(page, 'Live events');
    await page.getByText('message:sent').first().waitFor();
    await visit(page, 'Sessions');
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').first().click();
    await page.getByRole('region', { name: 'Messages, oldest first' }).getByText('hello <script>').first().waitFor();
    assert.match(page.url(), /\?session=/);
    await page.getByRole('link', { name: 'Runs of this session' }).click();
    await page
      .getByRole('region', { name: 'Turns, newest first' })
      .getByRole('button', { name: /^Turn 1 / })
      .waitFor();
  });

  test('the palette finds a setting, a method and a session by parts of their names', async () => {
    const { page } = dashboard;
    await page.keyboard.press('Control+k');
    const find = page.getByRole('dialog', { name: 'Find' });
    for (const [text, label] of [
      ['session default', /^Session default/],
      ['call cron.next', 'Call cron.next'],
      ['setting maxbatch', 'Setting gateway.maxBatchSize'],
    ] as const) {
      await find.getByRole('textbox').fill(text);
      await find.getByRole('button', { name: label }).first().waitFor();
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
    assert.match(page.url(), /section=gateway/);
  });

  test('another tab is signed in without a link, and one tab of eight reads the event stream', async () => {
    const { context, page, product, openTab } = dashboard;
    const streams: string[] = [];
    context.on('request', (request) => request.url().endsWith('/api/events') && streams.push(request.url()));
    const tabs = await Promise.all(Array.from({ length: 7 }, () => openTab()));
    for (const tab of tabs) {
      await tab.goto(`${product.url}/app/live`);
      await tab.getByRole('heading', { level: 1, name: 'Live events' }).waitFor();
    }
    await sendMessage(page, 'again');
    for (const tab of tabs) await tab.getByText('message:sent').first().waitFor();
    for (const tab of tabs) await visit(tab, 'Models');
    assert.deepEqual(streams, []);
    const handover = context.waitForEvent('request', (request) => request.url().endsWith('/api/events'));
    await page.close();
    const successor = await handover;
    assert.equal(new URL(successor.url()).search, '');
    [dashboard.page] = tabs as [(typeof tabs)[number]];
    await Promise.all(tabs.slice(1).map((tab) => tab.close()));
  });

  test('reports no error and no violation of the policy until the token is revoked', async () => {
    const { page, faults } = dashboard;
    assert.deepEqual(faults, []);
    await visit(page, 'Tokens');
    const row = page.getByRole('row').filter({ hasText: 'this browser' });
    const id = (await row.getByRole('cell').first().textContent()) ?? '';
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(id);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('expired or was revoked').waitFor();
  });
});
