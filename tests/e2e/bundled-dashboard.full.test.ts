import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { findChromium } from '@switchyard/testkit';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { startEmbedded, type Running } from './embedded.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-dev-shm-usage',
];
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A step of a page takes milliseconds; the rest is for a busy machine. */
const PATIENCE_MS = 10_000;

const found = await findChromium().catch((error: unknown) => error as Error);
const run = promisify(execFile);

describe('the bundled dashboard', { skip: found instanceof Error && found.message, timeout: 90_000 }, () => {
  let product: Running;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const faults: string[] = [];

  const printLink = async (): Promise<string> => {
    const { stdout } = await run(process.execPath, [`${ROOT}libs/cli/src/main.ts`, 'dashboard', '--data', product.data]);
    return stdout.trim();
  };
  const visit = async (title: string): Promise<void> => {
    await page.getByRole('navigation').getByRole('link', { name: title, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
  };

  before(async () => {
    await run(process.execPath, [`${ROOT}services/dashboard/src/build/build.ts`]);
    product = await startEmbedded();
    browser = await chromium.launch({ executablePath: found as string, args: FLAGS });
    context = await browser.newContext();
    // Playwright's own evaluation is not subject to the policy; only the page is.
    page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('request', (request) => {
      const { origin } = new URL(request.url());
      if (origin !== new URL(product.url).origin && !request.url().startsWith('data:')) faults.push(`request to ${request.url()}`);
    });
  });
  after(async () => {
    await (browser as Browser | undefined)?.close();
    await (product as Running | undefined)?.[Symbol.asyncDispose]();
  });

  test('opens signed in by a link that works once, and keeps the ticket out of the address', async () => {
    const link = await printLink();
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    assert.equal(page.url(), `${product.url}/app/`);
    await page.getByRole('cell', { name: 'sessions', exact: true }).waitFor();
    assert.equal(await page.evaluate('localStorage.length'), 0);
    await using other = await browser.newContext();
    const second = await other.newPage();
    await second.goto(link);
    await second.getByRole('alert').getByText('used already').waitFor();
  });

  test('streams an answer, and shows its events, its session and its messages', async () => {
    await visit('Chat');
    await page.getByLabel('Message').fill('hello <script>alert(1)</script>');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.theirs[data-state=done]').waitFor();
    await visit('Live events');
    await page.getByText('message:sent').first().waitFor();
    await visit('Sessions');
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').first().click();
    await page.getByRole('region', { name: 'Messages, oldest first' }).getByText('hello <script>').first().waitFor();
    assert.match(page.url(), /\?session=/);
  });

  test('opens every page without an error, a violation of the policy or a finding of axe-core', async () => {
    await page.evaluate(() => {
      const { document, violations } = Object.assign(globalThis, { violations: [] as string[] }) as unknown as {
        document: { addEventListener(name: string, listener: (event: { violatedDirective: string }) => void): void };
        violations: string[];
      };
      document.addEventListener('securitypolicyviolation', (event) => void violations.push(event.violatedDirective));
    });
    const titles = await page.getByRole('navigation').getByRole('link').allTextContents();
    assert.ok(titles.length >= 15);
    for (const title of titles) {
      await visit(title);
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      assert.deepEqual(await findAccessibilityFaults(), [], title);
    }
    assert.deepEqual(await page.evaluate('violations'), []);
    assert.deepEqual(faults, []);
  });

  test('another tab is signed in without a link, and one tab reads the event stream', async () => {
    const streams: string[] = [];
    context.on('request', (request) => request.url().endsWith('/api/events') && streams.push(request.url()));
    const second = await context.newPage();
    await second.goto(`${product.url}/app/live`);
    await second.getByRole('heading', { level: 1, name: 'Live events' }).waitFor();
    await visit('Chat');
    await page.getByLabel('Message').fill('again');
    await page.getByRole('button', { name: 'Send' }).click();
    await second.getByText('message:sent').first().waitFor();
    assert.deepEqual(streams, []);
    await page.close();
    await second.waitForRequest((request) => request.url().endsWith('/api/events'));
    page = second;
  });

  test('a revoked token ends all calls with one notice', async () => {
    await visit('Tokens');
    const row = page.getByRole('row').filter({ hasText: 'this browser' });
    const id = await row.getByRole('cell').first().textContent();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page
      .getByRole('dialog')
      .getByRole('textbox')
      .fill(id ?? '');
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('expired or was revoked').waitFor();
  });

  async function findAccessibilityFaults(): Promise<string[]> {
    await page.evaluate(await axeSource());
    return page.evaluate(
      `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
    );
  }
});

let source: string | undefined;
async function axeSource(): Promise<string> {
  return (source ??= `${await readFile(AXE, 'utf8')};0`);
}
