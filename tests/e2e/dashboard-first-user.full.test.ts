import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import type { Locator, Page } from 'playwright-core';
import { openDashboard, skip, type CreatedToken, type DashboardBrowser } from './dashboard-browser.ts';
import { call, sendRequest } from './exchange.ts';

/** Clicks that lead from the first page to an answer. */
const MAX_CLICKS = 4;
const QUESTIONS = ['Which of the three offers is the cheapest?', 'And which one is delivered first?'];
const ANSWER = 'The second offer is the cheapest.';
const DOCUMENTATION = 'https://docs.example.com';
const REASON = 'larger batches for the importer';

describe('a new user who has the link alone', { skip, timeout: 240_000 }, () => {
  let upstream: Upstream;
  let dashboard: DashboardBrowser;
  let page: Page;
  let clicks: number;

  before(async () => {
    upstream = await startUpstream({ kind: 'text', text: ANSWER });
    const local = { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm', contextWindow: 32_000 }] };
    const noRetries = { sdkRetry: { enabled: false, maxRetries: 0 } };
    dashboard = await openDashboard({
      config: {
        documentation: { enabled: true, publicDocsUrl: DOCUMENTATION },
        providers: { entries: { local: { ...local, maxRetries: 0 } } },
        agents: { default: { provider: 'local', model: 'm', ...noRetries } },
      },
    });
    const { product } = dashboard;
    for (const message of QUESTIONS) await call(product, 'agent.execute', { message, sessionKey: { channelId: 'customer' } });
    const { secret } = await call<CreatedToken>(product, 'tokens.create', { id: 'colleague', scopes: ['*'] });
    const change = { section: 'gateway', key: 'maxBatchSize', value: 80, message: REASON };
    assert.equal((await sendRequest(product, 'config.set', change, secret)).error, undefined);
    await call(product, 'config.set', { section: 'gateway', key: 'trustedProxies', value: ['10.0.0.1'] });
    upstream.respond({ kind: 'status', status: 401, message: 'invalid api key' });
    const failed = await sendRequest(product, 'agent.execute', { message: 'Where is my parcel?', sessionKey: { channelId: 'parcel' } });
    assert.ok(failed.error);
  });
  after(async () => {
    await (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]();
    await (upstream as Upstream | undefined)?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    page = await dashboard.openTab(await dashboard.browser.newContext());
    await page.goto(await dashboard.printLink());
    clicks = 0;
  });
  afterEach(async () => {
    assert.ok(clicks <= MAX_CLICKS, `${clicks} clicks`);
    assert.deepEqual(dashboard.faults, []);
    await page.context().close();
  });

  const click = async (target: Locator): Promise<void> => {
    clicks += 1;
    await target.click();
  };

  test('finds why the last turn failed, and what to do next', async () => {
    await click(page.getByRole('link', { name: /failed/ }).first());
    const reason = page.getByRole('region', { name: 'Why it failed' });
    await assertVisible(reason.getByText('The provider of local/m refused the key.'));
    await assertVisible(reason.getByText('What to do next:'));
    await assertVisible(reason.getByText('Set a valid key with env.set, then run models.test.'));
  });

  test('finds who changed a setting, its old and new value, and rolls it back', async () => {
    await click(page.getByRole('link', { name: REASON }));
    const change = page.getByRole('region', { name: 'Selected change' });
    await assertVisible(change.getByText(/^colleague, /));
    await assertVisible(change.getByText('gateway.maxBatchSize: not set (default 50) → 80'));
    await assertVisible(change.getByText('The 1 later change is taken back as well.'));
    await click(change.getByRole('button', { name: 'Roll back this change' }));
    const dialog = page.getByRole('dialog', { name: /^Roll back this change/ });
    await dialog.getByText('gateway.trustedProxies').waitFor();
    const typed = (await dialog.getByText(/^Type .* to confirm/).textContent()) ?? '';
    await dialog.getByRole('textbox').fill(/Type (\S+) to confirm/.exec(typed)?.[1] ?? '');
    await click(dialog.getByRole('button', { name: 'Roll back this change' }));
    await dialog.waitFor({ state: 'hidden' });
    const { maxBatchSize } = await call<{ maxBatchSize: number }>(dashboard.product, 'config.read', { section: 'gateway' });
    assert.equal(maxBatchSize, 50);
  });

  test('finds what the model received in a session', async () => {
    await click(page.getByRole('link', { name: 'Sessions', exact: true }));
    await click(page.getByRole('button', { name: /customer.* 4 messages/ }));
    await click(page.getByRole('link', { name: /what the model received/ }));
    await click(page.getByRole('button', { name: /^Turn 2 / }));
    const received = page.getByRole('region', { name: 'What the model received' });
    await received.getByRole('list', { name: 'Earlier messages' }).getByRole('listitem').nth(1).waitFor();
    const shown = (await received.innerText()).replaceAll(/\s+/g, ' ');
    const { messages = [] } = upstream.requests[1]?.body ?? assert.fail();
    const sent = messages as { content: string }[];
    assert.equal(sent.length, 4);
    assert.ok(sent[0]?.content.includes(DOCUMENTATION));
    const places = sent.map(({ content }) => shown.indexOf(content.replaceAll(/\s+/g, ' ')));
    assert.ok(places[0] !== -1);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      shown,
    );
  });
});

/** Fails unless the text is visible inside the window without scrolling. */
async function assertVisible(text: Locator): Promise<void> {
  await text.waitFor();
  const box = await text.boundingBox();
  const height = text.page().viewportSize()?.height ?? 0;
  assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, `at ${String(box?.y)} of ${height} pixels`);
}
