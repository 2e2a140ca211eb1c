import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findChromium } from '@switchyard/testkit';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { startEmbedded, type Running, type StartOptions } from './embedded.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Chromium connects to the product only: no updates, no hosts of its vendor. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-dev-shm-usage',
];
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const TOKEN_TTL_MS = 3_600_000;
/** A step of a page takes milliseconds; the rest is for a busy machine. */
const PATIENCE_MS = 20_000;

const run = promisify(execFile);

/** The path of Chromium, or why there is none. Without it the tests are skipped. */
export const foundChromium = await findChromium().catch((error: unknown) => error as Error);
export const skip = foundChromium instanceof Error && foundChromium.message;

/** The product with a browser that shows its dashboard. */
export interface DashboardBrowser extends AsyncDisposable {
  product: Running;
  browser: Browser;
  context: BrowserContext;
  /** The first tab. */
  page: Page;
  /** Errors of consoles and pages, violations of the policy, and requests to other hosts. */
  faults: string[];
  /** A link of `switchyard dashboard`, which works once. */
  printLink(): Promise<string>;
  /** Opens another tab, whose faults are recorded. */
  openTab(context?: BrowserContext): Promise<Page>;
}

/** Builds the dashboard unless it is built, starts the product, and signs in. */
export async function openDashboard(options: StartOptions = {}): Promise<DashboardBrowser> {
  await using starting = new AsyncDisposableStack();
  await run(process.execPath, [`${ROOT}services/dashboard/src/build/build.ts`]);
  const product = starting.use(await startEmbedded(options));
  const browser = await chromium.launch({ executablePath: foundChromium as string, args: FLAGS });
  starting.defer(() => browser.close());
  const context = await browser.newContext();
  const faults: string[] = [];
  const printLink = async (): Promise<string> => {
    const { stdout } = await run(process.execPath, [`${ROOT}libs/cli/src/main.ts`, 'dashboard', '--data', product.data]);
    return stdout.trim();
  };
  const openTab = async (within = context): Promise<Page> => {
    const page = await within.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    recordFaults(page, product.url, faults);
    return page;
  };
  const page = await openTab();
  await page.goto(await printLink());
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  const started = starting.move();
  return { product, browser, context, page, faults, printLink, openTab, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** A token as `tokens.create` returns it. */
export interface CreatedToken {
  id: string;
  secret: string;
  scopes: readonly string[];
}

/** Opens a page in another browser, which holds a token and runs a script in each document. The caller closes its context. */
export async function openWithToken(
  { browser, openTab, product }: DashboardBrowser,
  { id, secret, scopes }: CreatedToken,
  path = '/',
  script = '',
): Promise<Page> {
  const context = await browser.newContext();
  const expiresAt = new Date(Date.now() + TOKEN_TTL_MS).toISOString();
  const stored = JSON.stringify(JSON.stringify({ id, token: secret, scopes, expiresAt }));
  await context.addInitScript(`sessionStorage.setItem('switchyard:browser-token', ${stored});${script}`);
  const page = await openTab(context);
  await page.goto(`${product.url}/app${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return page;
}

/** A refused policy is an error of the console, so it is recorded as well. */
function recordFaults(page: Page, url: string, faults: string[]): void {
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(url).origin && protocol !== 'data:' && protocol !== 'blob:') faults.push(`request to ${request.url()}`);
  });
}

/** Opens a page by its link in the navigation. */
export async function visit(page: Page, title: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: title, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
  await waitUntilLoaded(page);
}

/** Waits until nothing on the page is loading. The policy of the page forbids `waitForFunction`, which evaluates a string. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

/** Returns by how many pixels the page is wider than its window. */
export function getOverflow(page: Page): Promise<number> {
  return page.evaluate('Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)');
}

/** Sends a message on the Chat page and waits for the end of its answer. */
export async function sendMessage(page: Page, message: string): Promise<void> {
  await visit(page, 'Chat');
  const answers = page.locator('.theirs');
  const before = await answers.count();
  await page.getByLabel('Message').fill(message);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.theirs[data-state=done]').nth(before).waitFor();
}

let axe: string | undefined;

/** Returns the findings of axe-core for WCAG 2.2 AA, or those of some rules. */
export async function findAccessibilityFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  axe ??= `${await readFile(AXE, 'utf8')};0`;
  // The script is large, and it stays in the page until the next document is loaded.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe);
  const runOnly = JSON.stringify(rules ?? ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']);
  return page.evaluate(
    `axe.run(document, { runOnly: ${runOnly}, resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
  );
}
