import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import {
  getOverflow,
  openDashboard,
  openWithToken,
  skip,
  visit,
  waitUntilLoaded,
  type CreatedToken,
  type DashboardBrowser,
} from './dashboard-browser.ts';
import { createData, DATA_OPTIONS } from './dashboard-data.ts';
import { changeResult, changeResults, delayMethod, setServices } from './dashboard-intercept.ts';
import { call } from './exchange.ts';

/** Time until a late service answers. The page itself waits for thirty seconds. */
const LATE_MS = 25_000;
/** Lifetime of a token that expires during a test. */
const TTL_MS = 15_000;
/** The slowest repetition of a call begins after five seconds. */
const REPETITION_MS = 6_000;
const LONG_CHARS = 20_000_000;
const QUESTION = Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ');
/** A name of 2,048 characters with null bytes, markup, an emoji and right-to-left text. */
const NAME = `\0<script>globalThis.pwned=1</script>javascript:pwned=1 \u202eעברית 👩‍👩‍👧 \0${'x'.repeat(2_048)}`.slice(0, 2_048);
/** Fields that others fill. Ids and states keep their values, because the product creates them. */
const NAMES = /^(name|label|content|message|task|title|reason|summary|detail|hint|modelId|displayName|lastError|agents|agentId|note)$/;
/** A browser without a screen hides no tab. The script does what one does with a hidden tab: it tells so, and it runs no frames. */
const VISIBILITY = `
  let visibility = 'visible';
  let waiting = [];
  const runFrame = requestAnimationFrame;
  Object.defineProperty(document, 'visibilityState', { get: () => visibility });
  Object.defineProperty(document, 'hidden', { get: () => visibility === 'hidden' });
  globalThis.requestAnimationFrame = (run) => (visibility === 'hidden' ? waiting.push(run) : runFrame(run));
  globalThis.setVisibility = (next) => {
    visibility = next;
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    for (const run of next === 'visible' ? waiting.splice(0) : []) runFrame(run);
  };
`;

describe('the dashboard at its limits', { skip, timeout: 600_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    await createData(dashboard.product, 'one', 2);
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('names of 2,048 characters with null bytes and markup are text on every page, which fits its window', async () => {
    const { page, product, faults } = dashboard;
    await changeResults(page, (result) => rename(result) as object);
    await page.goto(`${product.url}/app/`);
    for (const title of await page.getByRole('navigation').getByRole('link').allTextContents()) {
      await visit(page, title);
      assert.equal(await getOverflow(page), 0, title);
      assert.equal(await page.evaluate('globalThis.pwned'), undefined, title);
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    assert.deepEqual(faults, []);
  });

  test('a message of 20 MB is shown as a preview, and the page answers', async () => {
    const { page, product, faults } = dashboard;
    const content = '<b>long</b> '.padEnd(LONG_CHARS, 'x');
    await changeResult(page, 'session.history', (result) => ({ ...result, messages: [{ role: 'user', content }] }));
    await page.goto(`${product.url}/app/sessions`);
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').first().click();
    const messages = page.getByRole('region', { name: 'Messages, oldest first' });
    await messages.getByRole('button', { name: 'Save all 20,000,000 characters' }).waitFor();
    assert.equal(await messages.getByRole('button', { name: /^Show all/ }).count(), 0);
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      messages.getByRole('button', { name: 'Save all 20,000,000 characters' }).click(),
    ]);
    assert.equal((await stat(await saved.path())).size, LONG_CHARS);
    assert.ok(((await messages.textContent()) ?? '').length < 20_000);
    await visit(page, 'Agents');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    assert.deepEqual(faults, []);
  });

  test('a service that answers after 25 s: other pages work meanwhile, and its page shows the answer', async () => {
    const { page, product, faults } = dashboard;
    await page.goto(`${product.url}/app/`);
    await delayMethod(page, 'session.list', LATE_MS);
    await page.getByRole('navigation').getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.locator('main .loading').waitFor();
    await visit(page, 'Agents');
    await page.getByRole('button', { name: 'default', exact: true }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Sessions', exact: true }).click();
    await page
      .locator('main .row')
      .first()
      .waitFor({ timeout: 2 * LATE_MS });
    assert.equal(await page.getByRole('main').getByRole('alert').count(), 0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    assert.deepEqual(faults, []);
  });

  test('a token that expires during a form, a stream and a chat: one notice, no further call, and the text is kept', async () => {
    const { product, printLink } = dashboard;
    const token = await call<CreatedToken>(product, 'tokens.create', { id: 'short', scopes: ['*'], ttlMs: TTL_MS });
    const page = await openWithToken(dashboard, token, '/chat?agent=slow');
    await using _context = page.context();
    await page.getByLabel('Message').fill(QUESTION);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.theirs').getByText('word1').waitFor();
    await visit(page, 'Secrets');
    await page.getByLabel('Name').fill('HALF_TYPED');
    const notice = page.getByText('expired or was revoked');
    await notice.waitFor({ timeout: 4 * TTL_MS });
    assert.equal(await notice.count(), 1);
    const calls = recordCalls(page);
    await page.waitForTimeout(REPETITION_MS);
    assert.deepEqual(calls, []);
    await page.getByLabel('Link').fill(await printLink());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await notice.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Name').inputValue(), 'HALF_TYPED');
    dashboard.faults.length = 0;
  });

  test('a hidden tab makes no call, and reads again when it is shown', async () => {
    const { product } = dashboard;
    const token = await call<CreatedToken>(product, 'tokens.create', { id: 'hidden', scopes: ['*'] });
    const page = await openWithToken(dashboard, token, '/', VISIBILITY);
    await using _context = page.context();
    // A service that does not answer is asked again every five seconds.
    await setServices(page, 'down');
    await page.goto(`${product.url}/app/agents`);
    await page.getByText('is installed and does not answer').first().waitFor();
    await waitUntilLoaded(page);
    await page.evaluate('setVisibility("hidden")');
    const calls = recordCalls(page);
    await call(product, 'agents.create', { name: 'meanwhile' });
    await call(product, 'agent.execute', { message: 'hello' });
    await page.waitForTimeout(REPETITION_MS);
    assert.deepEqual(calls, []);
    await page.evaluate('setVisibility("visible")');
    await page.getByRole('button', { name: 'meanwhile', exact: true }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

function recordCalls(page: DashboardBrowser['page']): string[] {
  const calls: string[] = [];
  page.on('request', (request) => calls.push(request.url()));
  return calls;
}

/** Replaces all names in a result. */
function rename(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return NAMES.test(key) ? NAME : value;
  if (Array.isArray(value)) return value.map((one) => rename(one, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rename(one, name)]));
}
