// Measures the dashboard in Chromium against one process with all services, and prints the figures of docs/performance.md.
//   node bench/dashboard/main.ts [sizes] [paint] [clicks] [sessions] [messages] [graph] [events]
import { readScriptSizes } from '../../services/dashboard/src/build/script-sizes.ts';
import { openDashboard, openWithToken, visit, type CreatedToken, type DashboardBrowser } from '../../tests/e2e/dashboard-browser.ts';
import { changeResult } from '../../tests/e2e/dashboard-intercept.ts';
import { call } from '../../tests/e2e/exchange.ts';
import { quantile } from '../statistics.ts';
import { startEventProxy } from './event-proxy.ts';
import { createMessages, createSessions } from './load.ts';
import { measureSmoothness, PROBES, readClickTime, readPaintTime, timeLoad, timeUntil, type Smoothness } from './probes.ts';

const LOADS = 5;
const CLICK_ROUNDS = 5;
const SESSIONS = 10_000;
const MESSAGES = 5_000;
const NODES = 200;
const EVENTS_PER_SECOND = 1_000;
const EVENT_SECONDS = 60;
/** Sessions that the service creates while the events arrive. */
const BURST_SESSIONS = 20;
const SCROLL_STEPS = 100;
const SCROLL_PX = 2_000;

type Page = DashboardBrowser['page'];
const report = (figure: string, value: string): void => console.log(`| ${figure} | ${value} |`);
const ms = (value: number): string => `${Math.round(value)} ms`;
const describeSmoothness = ({ framesPerSecond, longTasks, longestTaskMs, heapGrowthMiB }: Smoothness): string =>
  `${framesPerSecond.toFixed(1)} frames a second, ${longTasks} long tasks (longest ${ms(longestTaskMs)}), heap ${heapGrowthMiB.toFixed(1)} MiB`;

await using dashboard = await openDashboard();
const { product } = dashboard;
const token = await call<CreatedToken>(product, 'tokens.create', { id: 'bench', scopes: ['*'] });
const page = await openWithToken(dashboard, token, '/', PROBES);
const REPORTS: Readonly<Record<string, () => void | Promise<void>>> = {
  sizes: reportSizes,
  paint: reportPaint,
  clicks: reportClicks,
  graph: reportGraph,
  messages: reportMessages,
  events: reportEvents,
  sessions: reportSessions,
};
const selected = process.argv.slice(2);
for (const [name, run] of Object.entries(REPORTS)) if (selected.length === 0 || selected.includes(name)) await run();
await page.context().close();

function reportSizes(): void {
  const { first, later } = readScriptSizes();
  const [largest, bytes] = [...later].toSorted(([, a], [, b]) => b - a)[0] ?? ['none', 0];
  report('first scripts after gzip', `${(first / 1_000).toFixed(1)} kB`);
  report('largest later script after gzip', `${(bytes / 1_000).toFixed(1)} kB (${largest.replace(/^assets\/|-[\w-]+\.js$/g, '')})`);
}

/** Each load is that of a new browser, which has nothing in its cache. */
async function reportPaint(): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < LOADS; n += 1) {
    const fresh = await openWithToken(dashboard, token, '/', PROBES);
    await fresh.getByRole('cell', { name: 'sessions', exact: true }).waitFor();
    times.push(await readPaintTime(fresh));
    await fresh.context().close();
  }
  report('largest contentful paint of Home', `${ms(quantile(times, 0.5))} (${ms(Math.min(...times))}–${ms(Math.max(...times))})`);
}

async function reportClicks(): Promise<void> {
  const titles = await page.getByRole('navigation').getByRole('link').allTextContents();
  for (let n = 0; n < CLICK_ROUNDS; n += 1) for (const title of titles) await visit(page, title);
  report(`click to frame, p95 of ${CLICK_ROUNDS * titles.length}`, ms(await readClickTime(page)));
}

async function reportSessions(): Promise<void> {
  await createSessions(product, SESSIONS);
  await page.reload();
  await visit(page, 'Home');
  report(`${SESSIONS} sessions: click to first rows`, ms(await timeUntil(page, 'Sessions', 'main .row')));
  await loadAll(page, 'Load older sessions');
  report('the same: shown', (await page.getByText(/^\d+ of \d+ sessions$/).textContent()) ?? '');
  const smoothness = await measureSmoothness(page, () => scroll(page, 'Sessions'));
  report('the same: scrolling', describeSmoothness(smoothness));
}

async function reportMessages(): Promise<void> {
  const session = await createMessages(product, MESSAGES);
  const address = `${product.url}/app/sessions?session=${encodeURIComponent(session)}`;
  report(`${MESSAGES} messages: load of the page to first rows`, ms(await timeLoad(page, address, '[aria-label^=Messages] .row')));
  await loadAll(page, 'Load older messages');
  const list = page.getByRole('region', { name: 'Messages, oldest first' });
  await list.evaluate('(element) => element.scrollTo(0, 0)');
  await list.getByText('question 0', { exact: true }).waitFor();
  report('the same: scrolling', describeSmoothness(await measureSmoothness(page, () => scroll(page, 'Messages, oldest first'))));
}

/** A definition has at most twenty nodes, so the answer to the page is extended. */
async function reportGraph(): Promise<void> {
  const { graphId } = await call<{ graphId: string }>(product, 'graph.define', { nodes: [{ node_id: 'a', task: 'hello' }] });
  await changeResult(page, 'graph.status', (result) => {
    const [node] = Object.values((result as { nodes: Record<string, object> }).nodes);
    const names = Array.from({ length: NODES }, (_, n) => [`n${n}`, { ...node, dependsOn: n < 10 ? [] : [`n${n - 10}`, `n${n - 7}`] }]);
    return { ...result, nodes: Object.fromEntries(names) as object };
  });
  report(
    `graph of ${NODES} nodes: load of the page to the picture`,
    ms(await timeLoad(page, `${product.url}/app/graphs?graph=${graphId}`, '.react-flow__node')),
  );
  await page.unrouteAll({ behavior: 'ignoreErrors' });
}

async function reportEvents(): Promise<void> {
  await using proxy = await startEventProxy(product.url);
  const live = await openWithToken({ ...dashboard, product: { ...product, url: proxy.url } }, token, '/live', PROBES);
  let published = 0;
  const smoothness = await measureSmoothness(live, async () => {
    const publishing = proxy.publish(EVENTS_PER_SECOND, EVENT_SECONDS);
    await createSessions(product, BURST_SESSIONS);
    published = await publishing;
    await live.getByText(`"number":${published},`).first().waitFor();
  });
  report(`${EVENTS_PER_SECOND} events a second for ${EVENT_SECONDS} s, all shown`, describeSmoothness(smoothness));
  await visit(live, 'Sessions');
  const { total } = await call<{ total: number }>(product, 'session.list', {});
  await live.getByText(`${total} of ${total} sessions`, { exact: true }).waitFor();
  report('the same: sessions on the page afterwards, and those of the service', `${total}, ${total}`);
  await live.context().close();
}

async function loadAll(from: Page, button: string): Promise<void> {
  const older = from.getByRole('button', { name: button });
  while ((await older.count()) > 0) {
    await older.click();
    await from.waitForTimeout(50);
  }
}

async function scroll(from: Page, label: string): Promise<void> {
  const list = from.getByRole('region', { name: label, exact: true });
  await list.hover();
  for (let n = 0; n < SCROLL_STEPS; n += 1) {
    await from.mouse.wheel(0, SCROLL_PX);
    await from.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
  }
}
