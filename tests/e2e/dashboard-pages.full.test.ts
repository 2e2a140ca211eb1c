import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDashboard, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { call } from './exchange.ts';

describe('pages of the dashboard', { skip, timeout: 240_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard();
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('a setting is changed by a form: dry run, apply, history and rollback', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Configuration');
    await page.getByLabel('Section').selectOption('gateway');
    await page.getByLabel('maxBatchSize', { exact: true }).fill('77');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('The change is valid.').waitFor();
    assert.match((await page.getByLabel('Difference from what is in force').textContent()) ?? '', /77/);
    await page.getByLabel('Reason, shown in the history').fill('larger batches');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('cell', { name: 'larger batches' }).waitFor();
    assert.equal((await readGateway(dashboard)).maxBatchSize, 77);

    const rows = await page.getByRole('row').count();
    await call(product, 'config.set', { section: 'gateway', key: 'maxBatchSize', value: 88 });
    const first = page.getByRole('row').filter({ hasText: 'larger batches' });
    const sha = (await first.getByRole('cell').nth(4).textContent()) ?? '';
    await page.getByRole('row').nth(rows).waitFor();
    await first.getByRole('button', { name: 'Roll back' }).click();
    const dialog = page.getByRole('dialog', { name: /^Roll back/ });
    await dialog.getByText('88').first().waitFor();
    await dialog.getByRole('textbox').fill(sha);
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal((await readGateway(dashboard)).maxBatchSize, 77);
  });

  test('a concurrent change is shown as three versions and is not overwritten', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Configuration');
    await page.getByLabel('Section').selectOption('gateway');
    await page.getByLabel('maxBatchSize', { exact: true }).fill('50');
    await call(product, 'config.set', { section: 'gateway', key: 'maxBatchSize', value: 60 });
    const conflict = page.getByRole('alert', { name: 'Concurrent change' });
    await conflict.getByText('You both changed maxBatchSize.').waitFor();
    for (const title of ['When you began', 'In force now', 'Yours'])
      await conflict.getByLabel(title, { exact: true }).getByText('"maxBatchSize"').first().waitFor();
    assert.ok(await page.getByRole('button', { name: 'Apply' }).isDisabled());
    assert.equal((await readGateway(dashboard)).maxBatchSize, 60);
    // The number of the newest version may arrive after its values. Then the page asks again.
    const rebase = conflict.getByRole('button', { name: 'Make my changes on the newest version' });
    while (await page.getByRole('button', { name: 'Apply' }).isDisabled()) {
      await rebase.click();
      await page.waitForTimeout(200);
    }
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Apply' }).waitFor({ state: 'detached' });
    assert.equal((await readGateway(dashboard)).maxBatchSize, 50);
  });

  test('an agent is edited as text, and what was typed survives leaving the page', async () => {
    const { page } = dashboard;
    await visit(page, 'Agents');
    await page.getByRole('button', { name: 'default', exact: true }).click();
    await page.getByRole('button', { name: 'Text', exact: true }).click();
    const editor = page.getByLabel('agents.default as JSON');
    await editor.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('{ "name": "Renamed" ');
    await visit(page, 'Models');
    await visit(page, 'Agents');
    await page.getByRole('button', { name: 'default', exact: true }).click();
    await page.getByText('The text is no valid JSON').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByLabel('name', { exact: true }).fill('Renamed');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Apply' }).waitFor({ state: 'detached' });
    const { config } = await call<{ config: { name: string } }>(dashboard.product, 'agents.get', { agentId: 'default' });
    assert.equal(config.name, 'Renamed');
  });

  test('a graph is drawn, executed, and readable as a list', async () => {
    const { page } = dashboard;
    await visit(page, 'Graphs');
    await page.getByRole('button', { name: 'Define', exact: true }).click();
    await page.locator('.react-flow__node').nth(1).waitFor();
    await page.locator('.react-flow__edge').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.getByText('2 of 2 nodes completed').waitFor();
    await page
      .getByRole('list', { name: 'Nodes in execution order' })
      .getByRole('button', { name: /^report/ })
      .click();
    await page.getByRole('region', { name: 'Node report' }).getByText('Compare').first().waitFor();
    assert.match(page.url(), /node=report/);
  });

  test('a job is added with its next fires, paused and removed', async () => {
    const { page } = dashboard;
    await visit(page, 'Schedule');
    const form = page.getByRole('region', { name: 'Add a job' });
    await form.getByLabel('Name').fill('nightly');
    await form.getByLabel('Message to the agent').fill('Write the report.');
    await form.getByLabel('Cron expression').fill('0 22 * * *');
    await form.getByRole('button', { name: 'Show next fires' }).click();
    await form.getByText('Next fires:').waitFor();
    await form.getByRole('button', { name: 'Add job' }).click();
    await page.getByRole('row').filter({ hasText: 'nightly' }).getByRole('button', { name: 'Details' }).click();
    const job = page.getByRole('region', { name: 'Job nightly' });
    await job.getByRole('listitem').nth(4).waitFor();
    await job.getByRole('button', { name: 'Pause' }).click();
    await job.getByRole('button', { name: 'Resume' }).waitFor();
    await job.getByRole('button', { name: 'Remove job' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('nightly');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove job' }).click();
    await job.waitFor({ state: 'detached' });
    assert.deepEqual((await call(dashboard.product, 'cron.list', {})).jobs, []);
  });

  test('reported no error and no violation of the policy', () => assert.deepEqual(dashboard.faults, []));
});

async function readGateway({ product }: DashboardBrowser): Promise<{ maxBatchSize?: number }> {
  return call(product, 'config.read', { section: 'gateway' });
}
