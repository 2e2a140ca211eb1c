import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@switchyard/client';
import type { Page } from 'playwright-core';
import {
  openDashboard,
  openWithToken,
  sendMessage,
  skip,
  visit,
  waitUntilLoaded,
  type CreatedToken,
  type DashboardBrowser,
} from './dashboard-browser.ts';
import { createData, DATA_OPTIONS, forEach } from './dashboard-data.ts';
import { call } from './exchange.ts';

const BIN = fileURLToPath(new URL('../../bin/', import.meta.url));
const RECORDS = 3;
const PATIENCE_MS = 30_000;
const POLL_MS = 100;
const BURST_TURNS = 300;
const BURST_SESSIONS = 30;
/** Pages whose address selects or filters something, with a text that only this selection shows. */
const VIEWS: Readonly<Record<string, string>> = {
  '/configuration?section=gateway&as=text': 'gateway as JSON',
  '/agents?agent=slow': 'Agent slow',
  '/sessions?filter=view-1': '2 of ',
  '/runs?where=error': 'Failed only',
  '/memory?query=tea': 'prefers tea',
  '/skills?skill=view-1': 'Edit view-1',
  '/cost?days=7': 'of the last seven days',
  '/api?method=cron.next': 'cron.next',
};
/** These pages show nothing before something is chosen. */
const WITHOUT_CALL = new Set(['API explorer', 'Log levels']);

const run = promisify(execFile);

describe('the address and the exports of the dashboard', { skip, timeout: 300_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard(DATA_OPTIONS);
    await createData(dashboard.product, 'view', RECORDS);
    await dashboard.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('an address opens the same view in the browser of a colleague', async () => {
    const { page, product } = dashboard;
    const token = await call<CreatedToken>(product, 'tokens.create', { id: 'colleague', scopes: ['*'] });
    const colleague = await openWithToken(dashboard, token);
    await using _context = colleague.context();
    for (const [path, text] of Object.entries(VIEWS)) {
      await Promise.all([page, colleague].map((one) => openView(one, `${product.url}/app${path}`, text)));
      const readBoth = () => Promise.all([page, colleague].map(readView));
      let [own, theirs] = await readBoth();
      // A cell of a table may be loaded after the table.
      for (const deadline = performance.now() + PATIENCE_MS; own !== theirs && performance.now() < deadline;) {
        await sleep(POLL_MS);
        [own, theirs] = await readBoth();
      }
      assert.equal(own, theirs, path);
    }
    assert.deepEqual(dashboard.faults, []);
  });

  test('selecting, filtering and switching a view changes the address, and going back returns to it', async () => {
    const { page } = dashboard;
    await visit(page, 'Sessions');
    await page.getByLabel('Filter').fill('view-1');
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').first().click();
    await page.getByRole('region', { name: 'Messages, oldest first' }).waitFor();
    const address = page.url();
    assert.match(address, /filter=view-1.*session=/);
    await visit(page, 'Agents');
    await page.goBack();
    await page.getByRole('region', { name: 'Messages, oldest first' }).waitFor();
    assert.equal(page.url(), address);
    assert.equal(await page.getByLabel('Filter').inputValue(), 'view-1');
  });

  test('the four notations of a view run, and return what it shows', async () => {
    const { page, product } = dashboard;
    await page.goto(`${product.url}/app/agents?agent=slow`);
    const view = page.getByRole('region', { name: 'Agent slow' });
    const copy = async (name: string): Promise<string> => {
      await view.getByRole('button', { name, exact: true }).first().click();
      await view.getByText(`copied ${name}`).waitFor();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const expected = await call(product, 'agents.get', { agentId: 'slow' });
    const runShell = async (text: string): Promise<unknown> => {
      const env = { PATH: `${BIN}:${process.env.PATH}`, HOME: product.data, SWITCHYARD_DATA: product.data, NO_COLOR: '1' };
      return JSON.parse((await run('sh', ['-c', text], { env })).stdout);
    };

    const body = await copy('JSON-RPC');
    const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
    const response = (await (await fetch(`${product.url}/rpc`, { method: 'POST', headers, body })).json()) as { result: unknown };
    assert.deepEqual(response.result, expected);

    const curl = await copy('curl');
    assert.ok(!curl.includes(product.token));
    assert.deepEqual(((await runShell(curl)) as { result: unknown }).result, expected);
    assert.deepEqual(await runShell(`${await copy('command')} -o json`), expected);

    const [, method, params] = /^await client\.call\((".*?"), (.*)\);$/.exec(await copy('TypeScript')) ?? [];
    const client = createClient({ url: product.url, token: product.token });
    assert.deepEqual(
      await client.call(JSON.parse(method ?? '') as 'agents.get', JSON.parse(params ?? '') as { agentId: string }),
      expected,
    );
    client.close();
  });

  test('the notations of the audit log and of the events run, and return what the pages show', async () => {
    const { page, product } = dashboard;
    const env = { PATH: `${BIN}:${process.env.PATH}`, HOME: product.data, SWITCHYARD_DATA: product.data, NO_COLOR: '1' };
    await visit(page, 'Audit');
    const shown = (await page.getByRole('main').getByRole('row').nth(1).allInnerTexts()).join('');
    const { records } = JSON.parse((await run('sh', ['-c', await copyNotation(page, 'curl')], { env })).stdout) as {
      records: { hash: string }[];
    };
    assert.ok(records.some(({ hash }) => shown.includes(hash)));
    const listed = JSON.parse((await run('sh', ['-c', `${await copyNotation(page, 'command')} -o json`], { env })).stdout) as unknown[];
    assert.ok(listed.length >= records.length);
    assert.match(await copyNotation(page, 'TypeScript'), /^await \(await fetch\("http.*\/api\/audit\?after=0&limit=\d+", /);

    await visit(page, 'Live events');
    assert.equal(await copyNotation(page, 'TypeScript'), 'for await (const event of client.events()) console.log(event);');
    const stream = run('sh', ['-c', `${await copyNotation(page, 'curl')} --max-time 3`], { env }).catch((error: unknown) => error);
    await call(product, 'agent.execute', { message: 'hello' });
    assert.match(((await stream) as { stdout: string }).stdout, /^id: /m);
  });

  test('the link of a conversation opens it with its messages in the browser of a colleague, also after its first answer', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Chat');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.waitForURL(/session=chat-/);
    await sendMessage(page, 'first **question**');
    await page.waitForURL(/session=default(:|%3A)/);
    await sendMessage(page, 'second question');
    const token = await call<CreatedToken>(product, 'tokens.create', { id: 'reader', scopes: ['*'] });
    const { pathname, search } = new URL(page.url());
    const colleague = await openWithToken(dashboard, token, pathname.replace('/app', '') + search);
    await using _context = colleague.context();
    for (const one of [page, colleague]) {
      await one.locator('.theirs').nth(1).waitFor();
      assert.deepEqual(await one.locator('.mine').allTextContents(), ['first **question**', 'second question']);
    }
    assert.deepEqual(await colleague.locator('.theirs').allTextContents(), await page.locator('.theirs').allTextContents());
    await page.reload();
    await page.locator('.theirs').nth(1).waitFor();
    await visit(page, 'Agents');
    await visit(page, 'Chat');
    await page.waitForURL(/session=default(:|%3A)/);
    assert.equal(await page.locator('.mine').count(), 2);
    assert.deepEqual(dashboard.faults, []);
  });

  test('after a burst of turns the counts of the page equal those of the service', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Sessions');
    await forEach(Array.from({ length: BURST_TURNS }), (_, n) =>
      call(product, 'agent.execute', { message: 'hello', sessionKey: { channelId: `burst-${n % BURST_SESSIONS}` } }),
    );
    const { sessions, total } = await call<{ sessions: { sessionKey: string; messageCount: number }[]; total: number }>(
      product,
      'session.list',
      {},
    );
    await page.getByText(`${total} of ${total} sessions`, { exact: true }).waitFor();
    const busiest = sessions.find(({ sessionKey }) => sessionKey.includes('burst-0'));
    assert.equal(busiest?.messageCount, (2 * BURST_TURNS) / BURST_SESSIONS);
    await page.getByLabel('Filter').fill('burst-0');
    await page.getByRole('main').getByText(`${busiest.messageCount} messages`).waitFor();
  });

  test('every page names the call behind it', async () => {
    const { page } = dashboard;
    for (const title of await page.getByRole('navigation').getByRole('link').allTextContents()) {
      if (WITHOUT_CALL.has(title)) continue;
      await visit(page, title);
      assert.ok((await page.getByRole('button', { name: 'TypeScript' }).count()) > 0, title);
    }
  });

  test('a table and a list are exported as JSON and CSV with all their records', async () => {
    const { page, product } = dashboard;
    await visit(page, 'Tokens');
    const { tokens } = await call<{ tokens: { id: string }[] }>(product, 'tokens.list', {});
    const saved = JSON.parse(await download(page, 'Export JSON')) as { id: string }[];
    assert.deepEqual(saved.map(({ id }) => id).toSorted(), tokens.map(({ id }) => id).toSorted());
    const lines = (await download(page, 'Export CSV')).split('\r\n');
    assert.equal(lines[0], '"id","note","scopes","sessions","createdAt","expiresAt"');
    assert.equal(lines.length, tokens.length + 1);
    await visit(page, 'Sessions');
    await page.getByLabel('Filter').fill('view-1');
    const sessions = JSON.parse(await download(page, 'Export JSON')) as { sessionKey: string }[];
    assert.ok(sessions.length > 0 && sessions.every(({ sessionKey }) => sessionKey.includes('view-1')));
    assert.deepEqual(dashboard.faults, []);
  });
});

async function openView(page: Page, address: string, text: string): Promise<void> {
  await page.goto(address);
  const main = page.getByRole('main');
  await main.getByText(text).or(main.getByLabel(text)).first().waitFor();
  await waitUntilLoaded(page);
}

/** Returns the text of the open view without its times. */
async function readView(page: Page): Promise<string> {
  const shown = (await page.getByRole('main').textContent()) ?? '';
  return shown.replaceAll(/As of [^]*?(?=[A-Z]|$)|\d{1,2}:\d{2}:\d{2}|\d+ (?:min|MiB)/g, '');
}

async function copyNotation(page: Page, name: string): Promise<string> {
  const main = page.getByRole('main');
  await main.getByRole('button', { name, exact: true }).click();
  await main.getByText(`copied ${name}`).waitFor();
  return page.evaluate<string>('navigator.clipboard.readText()');
}

async function download(page: Page, button: string): Promise<string> {
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).first().click()]);
  return readFile(await saved.path(), 'utf8');
}
