import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  findAccessibilityFaults,
  openDashboard,
  sendMessage,
  skip,
  visit,
  waitUntilLoaded,
  type DashboardBrowser,
} from './dashboard-browser.ts';
import { call } from './exchange.ts';

const SIZES = { wide: { width: 1_280, height: 900 }, narrow: { width: 320, height: 640 } };
/** Pages with a selected record, which their links in the navigation do not open. */
const PATHS = [
  '/configuration?section=gateway',
  '/configuration?section=gateway&as=text',
  '/agents?agent=default',
  '/agents?agent=default&as=text',
  '/schedule?job=nightly',
];

describe('the accessibility of the dashboard', { skip, timeout: 900_000 }, () => {
  let dashboard: DashboardBrowser;
  let paths: string[];

  before(async () => {
    dashboard = await openDashboard();
    await sendMessage(dashboard.page, 'hello');
    await call(dashboard.product, 'cron.add', { name: 'nightly', message: 'hi', schedule: { kind: 'cron', expr: '0 22 * * *' } });
    const { graphId } = await call<{ graphId: string }>(dashboard.product, 'graph.define', {
      nodes: [
        { node_id: 'a', task: 'one' },
        { node_id: 'b', task: 'two', depends_on: ['a'] },
      ],
    });
    paths = [...PATHS, `/graphs?graph=${graphId}&node=a`];
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  for (const colorScheme of ['light', 'dark'] as const)
    for (const [name, size] of Object.entries(SIZES))
      test(`axe-core finds nothing on any page, ${colorScheme} and ${name}`, async () => {
        const { page, product } = dashboard;
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(size);
        for (const title of await page.getByRole('navigation').getByRole('link').allTextContents()) {
          await visit(page, title);
          assert.deepEqual(await findAccessibilityFaults(page), [], title);
        }
        for (const path of paths) {
          await page.goto(`${product.url}/app${path}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await waitUntilLoaded(page);
          if (path.endsWith('text')) await page.locator('.cm-content').waitFor();
          assert.deepEqual(await findAccessibilityFaults(page), [], path);
        }
        assert.deepEqual(dashboard.faults, []);
      });
});
