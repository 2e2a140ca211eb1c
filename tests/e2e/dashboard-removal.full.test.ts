import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { openDashboard, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { takeFaults } from './dashboard-views.ts';
import { createData, DATA_OPTIONS } from './dashboard-data.ts';
import { call } from './exchange.ts';

describe('removing and saving on the dashboard', { skip, timeout: 240_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    const { product } = dashboard;
    await createData(product, 'old', 2);
    for (const message of ['hello', 'again']) await call(product, 'agent.execute', { message, sessionKey: { channelId: 'finished' } });
    await call(product, 'agents.create', { name: 'spare' });
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('a session: its messages are counted first, it is removed after its name is typed, and the removal is audited', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Sessions');
    await page.getByLabel('Filter').fill('finished');
    const summary = page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').filter({ hasText: '4 messages' });
    await summary.first().click();
    const key = new URL(page.url()).searchParams.get('session') ?? '';
    await confirm(page, page.getByRole('region', { name: 'Messages', exact: true }), 'Delete session', key, 'its 4 messages are removed');
    const { sessions } = await call<{ sessions: { sessionKey: string }[] }>(product, 'session.list', {});
    assert.ok(!sessions.some(({ sessionKey }) => sessionKey === key));
    await findAudited(page, 'session.delete');
  });

  test('a token and an agent: each is removed after its name is typed, and the removal is audited', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Tokens');
    await confirm(page, page.getByRole('row').filter({ hasText: 'old-1' }), 'Revoke', 'old-1', 'are refused from now on');
    await page.getByRole('cell', { name: 'old-1', exact: true }).waitFor({ state: 'detached' });
    await findAudited(page, 'tokens.revoke');
    await page.goto(`${product.url}/app/agents?agent=spare`);
    await confirm(page, page.getByRole('region', { name: 'Agent spare' }), 'Delete agent', 'spare', 'The agent is removed');
    const { agents } = await call<{ agents: string[] }>(product, 'agents.list', {});
    assert.ok(!agents.includes('spare'));
    await findAudited(page, 'agents.delete');
  });

  test('a memory: it is removed after its id is typed, and the removal is audited', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Memory');
    const { entries } = await call<{ entries: { id: string; content: string }[] }>(product, 'memory.browse', {});
    const [{ id, content } = { id: '', content: '' }] = entries;
    await confirm(page, page.getByRole('row').filter({ hasText: content }).first(), 'Delete', id, 'One memory is removed');
    const { entries: left } = await call<{ entries: { id: string }[] }>(product, 'memory.browse', {});
    assert.ok(!left.some((entry) => entry.id === id));
    await findAudited(page, 'memory.delete');
  });

  test('what is typed survives a broken stream and a save that runs meanwhile, and is saved by the next one', async () => {
    const { page, context, product, faults } = dashboard;
    await page.goto(`${product.url}/app/configuration?section=gateway`);
    const field = page.getByLabel('maxBatchSize', { exact: true });
    await field.fill('31');
    await context.setOffline(true);
    await page.getByText('This browser is offline').waitFor();
    await context.setOffline(false);
    await page.getByText('This browser is offline').waitFor({ state: 'detached' });
    assert.equal(await field.inputValue(), '31');
    const held = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    await page.route('**/rpc', async (route) => {
      if ((route.request().postDataJSON() as { method: string }).method === 'config.patch') {
        arrived.resolve();
        await held.promise;
      }
      await route.fallback();
    });
    await page.getByRole('button', { name: 'Apply' }).click();
    await arrived.promise;
    await field.fill('32');
    held.resolve();
    await page.getByText(/^In force: /).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'Apply' }).and(page.locator(':enabled')).waitFor();
    assert.equal(await field.inputValue(), '32');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Apply' }).waitFor({ state: 'detached' });
    const { maxBatchSize } = await call<{ maxBatchSize: number }>(product, 'config.read', { section: 'gateway' });
    assert.equal(maxBatchSize, 32);
    assert.deepEqual(takeFaults(faults), []);
  });
});

/** Runs a destructive action. The dialog shows what is removed, and its button works after the name is typed. */
async function confirm(page: Page, within: Locator, action: string, name: string, shows: string): Promise<void> {
  await within.getByRole('button', { name: action, exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `${action} ${name}`, exact: true });
  await dialog.getByText(shows).waitFor();
  const button = dialog.getByRole('button', { name: action, exact: true });
  await dialog.getByRole('textbox').fill(`${name} `);
  assert.ok(await button.isDisabled());
  await dialog.getByRole('textbox').fill(name);
  await button.click();
  await dialog.waitFor({ state: 'hidden' });
}

async function findAudited(page: Page, method: string): Promise<void> {
  await visit(page, 'Audit');
  await page.getByRole('row').filter({ hasText: method }).first().waitFor();
}
