import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import {
  findAccessibilityFaults,
  getOverflow,
  openDashboard,
  skip,
  visit,
  waitUntilLoaded,
  type DashboardBrowser,
} from './dashboard-browser.ts';
import { createData, DATA_OPTIONS } from './dashboard-data.ts';
import { call } from './exchange.ts';

/** More elements than any page has before the one that is looked for. */
const MAX_TABS = 200;

describe('the dashboard without a mouse and with settings of the system', { skip, timeout: 300_000 }, () => {
  let dashboard: DashboardBrowser;
  let graphId: string;

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    await createData(dashboard.product, 'one', 1);
    const nodes = [
      { node_id: 'research', task: 'one' },
      { node_id: 'report', task: 'two', depends_on: ['research'] },
    ];
    ({ graphId } = await call<{ graphId: string }>(dashboard.product, 'graph.define', { nodes }));
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('the palette opens a page, an agent and a session by keys alone, and Escape returns the focus', async () => {
    const { page } = dashboard;
    for (const [text, heading, address] of [
      ['log lev', 'Log levels', /\/logs?|\/log-levels/],
      ['agent slow', 'Agents', /agent=slow/],
      ['session default', 'Sessions', /session=.*default/],
    ] as const) {
      await page.keyboard.press('Control+k');
      const find = page.getByRole('dialog', { name: 'Find' });
      await page.keyboard.type(text);
      await find.getByRole('listitem').first().waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      assert.match(page.url(), address);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Find' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Find' }).waitFor({ state: 'hidden' });
  });

  test('a message is sent and an answer read by keys alone', async () => {
    const { page, product } = dashboard;
    await page.goto(`${product.url}/app/chat`);
    await waitUntilLoaded(page);
    await focusByTab(page, 'Skip to the page');
    await page.keyboard.press('Enter');
    await focusByTab(page, 'Message');
    await page.keyboard.type('hello');
    await page.keyboard.press('Enter');
    await page.locator('.theirs[data-state=done]').first().waitFor();
    await focusByTab(page, 'Steps of this turn');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
  });

  test('a node of a graph is selected in the list beside the picture by keys alone', async () => {
    const { page, product } = dashboard;
    await page.goto(`${product.url}/app/graphs?graph=${graphId}`);
    await page.locator('.react-flow__node').first().waitFor();
    await focusByTab(page, /^report/);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Node report' }).waitFor();
    assert.match(page.url(), /node=report/);
  });

  test('a job is removed by keys alone, and the dialog keeps the focus inside', async () => {
    const { page, product } = dashboard;
    await page.goto(`${product.url}/app/schedule?job=one-0`);
    await page.getByRole('region', { name: 'Job one-0' }).waitFor();
    await waitUntilLoaded(page);
    await focusByTab(page, 'Remove job');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: /^Remove job/ });
    await dialog.waitFor();
    await focusByTab(page, /Type .* to confirm/);
    await page.keyboard.type('one-0');
    await dialog.getByRole('button', { name: 'Remove job' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    assert.deepEqual((await call(product, 'cron.list', {})).jobs, []);
  });

  test('forced colours, reduced motion and a 4K screen: axe-core finds nothing, no page overflows and nothing moves', async () => {
    const { page, product } = dashboard;
    await page.goto(`${product.url}/app/`);
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 3_840, height: 2_160 });
    for (const title of await page.getByRole('navigation').getByRole('link').allTextContents()) {
      await visit(page, title);
      assert.deepEqual(await findAccessibilityFaults(page), [], title);
      assert.equal(await getOverflow(page), 0, title);
      assert.equal(await page.evaluate('document.getAnimations().length'), 0, title);
    }
    await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'no-preference' });
    assert.deepEqual(dashboard.faults, []);
  });
});

/** Presses Tab until the element with this name has the focus. */
async function focusByTab(page: Page, name: string | RegExp): Promise<void> {
  for (let n = 0; n < MAX_TABS; n += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(
      `(({ activeElement: element, body }) => element === body ? '' : (element.labels?.[0]?.textContent ?? element.ariaLabel ?? element.textContent ?? '').trim())(document)`,
    );
    if (typeof name === 'string' ? focused === name : name.test(focused)) return;
  }
  assert.fail(`no element with the name ${String(name)} gets the focus`);
}
