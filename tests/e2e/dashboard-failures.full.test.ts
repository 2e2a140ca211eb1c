import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { freePort } from '@switchyard/testkit';
import { openDashboard, sendMessage, skip, visit, waitUntilLoaded, type DashboardBrowser } from './dashboard-browser.ts';
import { startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';

const config = { agents: { default: {}, slow: { provider: 'dev', model: 'slow' } } };
const QUESTION = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');

describe('failures around the dashboard', { skip, timeout: 300_000 }, () => {
  let dashboard: DashboardBrowser;
  let port: number;
  /** Started after the first product is killed. */
  let next: Running | undefined;

  before(async () => {
    port = await freePort();
    dashboard = await openDashboard({ config, env: { SWITCHYARD_PORT: String(port) } });
  });
  after(async () => {
    await next?.[Symbol.asyncDispose]();
    await (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]();
  });

  test('a token revoked during a form, a stream and a chat: one notice, no further call, and the text is kept', async () => {
    const { page, product, printLink } = dashboard;
    await visit(page, 'Secrets');
    await page.getByLabel('Name').fill('HALF_TYPED');
    await visit(page, 'Chat');
    await page.getByRole('main').getByLabel('Agent').selectOption('slow');
    await page.getByLabel('Message').fill(QUESTION);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.theirs').getByText('word1').waitFor();
    await page.getByLabel('Message').fill('typed meanwhile');
    const { tokens } = await call<{ tokens: { id: string }[] }>(product, 'tokens.list', {});
    const id = tokens.map((token) => token.id).find((one) => one.startsWith('browser')) ?? '';
    await call(product, 'tokens.revoke', { id });
    await page.getByText('expired or was revoked').waitFor();
    assert.equal(await page.getByText('expired or was revoked').count(), 1);
    const calls: string[] = [];
    page.on('request', (request) => calls.push(request.url()));
    // The slowest repetition of a read begins after five seconds.
    await page.waitForTimeout(6_000);
    assert.deepEqual(calls, []);
    await page.getByLabel('Link').fill(await printLink());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('expired or was revoked').waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Message').inputValue(), 'typed meanwhile');
    await page.getByLabel('Message').fill('');
  });

  test('offline and back: the last data stay, and are read again', async () => {
    const { page, context, product } = dashboard;
    await visit(page, 'Schedule');
    await context.setOffline(true);
    await page.getByText('This browser is offline').waitFor();
    await call(product, 'cron.add', { name: 'meanwhile', message: 'hello', schedule: { kind: 'interval', everyMs: 3_600_000 } });
    await context.setOffline(false);
    await page.getByText('This browser is offline').waitFor({ state: 'detached' });
    await page.getByRole('cell', { name: 'meanwhile' }).waitFor();
  });

  test('a killed gateway: the chat continues on another one, and no message arrives twice', async () => {
    const { page, product } = dashboard;
    await page.goto(`${product.url}/app/chat?agent=slow&session=killed`);
    await waitUntilLoaded(page);
    await page.getByLabel('Message').fill(QUESTION);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.theirs').getByText('word1').waitFor();
    await product.process.end('SIGKILL');
    next = await startEmbedded({ data: product.data, config, env: { SWITCHYARD_PORT: String(port) } });
    await page.locator('.theirs[data-state=done]').waitFor({ timeout: 60_000 });
    assert.match((await page.locator('.theirs').last().textContent()) ?? '', /word0 .*word59$/);
    const { sessions } = await call<{ sessions: { sessionKey: string; messageCount: number }[] }>(next, 'session.list', {});
    assert.deepEqual(
      sessions.flatMap(({ sessionKey, messageCount }) => (sessionKey.includes('killed') ? [messageCount] : [])),
      [2],
    );
    await sendMessage(page, 'after the kill');
    dashboard.faults.length = 0;
  });

  test('half of the calls failing: each page shows its data after another attempt', async () => {
    const { page } = dashboard;
    let count = 0;
    await page.route('**/rpc', (route) => (count++ % 2 === 0 ? route.fulfill({ status: 503, body: '' }) : route.continue()));
    for (const title of ['Agents', 'Models', 'Schedule']) {
      await visit(page, title);
      await page
        .getByText(/^As of/)
        .first()
        .waitFor();
    }
    await page.unrouteAll();
    dashboard.faults.length = 0;
  });

  test('a call over its limit names the time, and is not repeated before', async () => {
    const { page } = dashboard;
    await visit(page, 'Home');
    const data = { code: 'RESOURCE_EXHAUSTED', reason: 'RATE_LIMITED', requestId: 'r1', retryable: true, retryAfterMs: 90_000 };
    let count = 0;
    await page.route('**/rpc', async (route) => {
      const { id, method } = route.request().postDataJSON() as { id: number; method: string };
      if (method !== 'env.list') return route.continue();
      count += 1;
      return route.fulfill({ status: 429, json: { jsonrpc: '2.0', id, error: { code: -32000, message: 'Too many requests', data } } });
    });
    await visit(page, 'Secrets');
    await page.getByText('Try again in 2 min').waitFor();
    await page.waitForTimeout(6_000);
    assert.equal(count, 1);
    await page.unrouteAll();
    dashboard.faults.length = 0;
  });

  test('a rollout under an open page is announced, and nothing is reloaded without the operator', async () => {
    const { page, context } = dashboard;
    await visit(page, 'Chat');
    await page.getByLabel('Message').fill('not sent yet');
    await page.route('**/app/', (route) => route.fulfill({ status: 200, headers: { etag: '"another"' } }));
    await context.setOffline(true);
    await page.getByText('This browser is offline').waitFor();
    await context.setOffline(false);
    await page.getByText('serves a newer version').waitFor();
    assert.equal(await page.getByLabel('Message').inputValue(), 'not sent yet');
    await page.unrouteAll();
  });
});
