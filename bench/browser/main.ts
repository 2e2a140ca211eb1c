import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { principal } from '@switchyard/testkit';
import { testBrowser } from '../../services/browser/src/browser.fixture.ts';
import { startReplicas } from '../../services/browser/src/replicas.fixture.ts';
import { readSavedPages } from '../../services/browser/src/saved-pages.fixture.ts';
import { pairedDifferences, pairedRatios, quantile } from '../statistics.ts';
import { launchBare, type BareBrowser } from './bare-script.ts';
import { measureMemory } from './memory.ts';

/** `browser.*` beside a bare script of playwright-core with the same Chromium and pages. Names of figures select some of them. */
const PAGES = 12;
const MIN_PAGE_CHARS = 20_000;
const ROUNDS = 3;
const CLICKS = 40;
/** The longest snapshot that the service returns. */
const MAX_CHARS = 120_000;
const STARTS = 5;
/** Saved pages ask for servers that are gone. The policy keeps both browsers from asking. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";
const BUTTON_PAGE = '<!doctype html><title>Button</title><button>Press</button>';
const BROWSER = { enabled: true, allowLoopbackNavigation: true, timeoutMs: 20_000 };

type Bus = Awaited<ReturnType<typeof testBrowser>>['bus'];
interface Figures {
  ours: number[];
  bare: number[];
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Runs both for each item and round. Each goes first in every second round; the first round warms up. */
async function compare<T>(
  items: readonly T[],
  rounds: number,
  runs: Record<keyof Figures, (item: T) => Promise<unknown>>,
): Promise<Figures> {
  const figures: Figures = { ours: [], bare: [] };
  for (let round = -1; round < rounds; round += 1) {
    for (const item of items) {
      for (const name of round % 2 === 0 ? (['ours', 'bare'] as const) : (['bare', 'ours'] as const)) {
        const ms = await time(() => runs[name](item));
        if (round >= 0) figures[name].push(ms);
      }
    }
  }
  return figures;
}

function report(name: string, { ours, bare }: Figures): void {
  const ratios = pairedRatios(ours, bare);
  const difference = quantile(pairedDifferences(ours, bare), 0.5);
  const range = `${quantile(ratios, 0.25).toFixed(2)}–${quantile(ratios, 0.75).toFixed(2)}`;
  console.log(
    `${name}: ${quantile(ours, 0.5).toFixed(1)} ms, bare ${quantile(bare, 0.5).toFixed(1)} ms, ${quantile(ratios, 0.5).toFixed(2)}x (quartiles ${range}), ${difference.toFixed(1)} ms more`,
  );
}

async function comparePages(name: string, bus: Bus, bare: BareBrowser, urls: readonly string[]): Promise<void> {
  const look = async (url: string): Promise<void> => {
    await bus.call('browser.navigate', { url });
    await bus.call('browser.snapshot', { maxChars: MAX_CHARS });
  };
  report(`navigate and snapshot, ${name}`, await compare(urls, ROUNDS, { ours: look, bare: (url) => bare.look(url) }));
}

async function compareClicks(name: string, bus: Bus, bare: BareBrowser, url: string): Promise<void> {
  await bus.call('browser.navigate', { url });
  await bare.look(url);
  const { refs } = await bus.call('browser.snapshot', {});
  const [selector = ''] = Object.keys(refs);
  const press = async (): Promise<void> => {
    const { ok, error } = await bus.call('browser.act', { action: 'click', selector });
    if (!ok) throw new Error(error);
  };
  report(`click, ${name}`, await compare([undefined], CLICKS, { ours: press, bare: () => bare.click() }));
}

async function compareStarts(bus: Bus, url: string): Promise<void> {
  let started: BareBrowser | undefined;
  const start = async (): Promise<void> => {
    started = await launchBare();
    await started.open(url);
  };
  const figures: Figures = { ours: [], bare: [] };
  for (let round = 0; round < STARTS; round += 1) {
    figures.ours.push(await time(() => bus.call('browser.navigate', { url })));
    await bus.call('browser.stop', {});
    figures.bare.push(await time(start));
    await started?.close();
  }
  report('start with a page', figures);
}

const selected = process.argv.slice(2);
const isSelected = (name: string): boolean => selected.length === 0 || selected.includes(name);

await using stack = new AsyncDisposableStack();
const saved = [...(await readSavedPages())].filter(([, source]) => source.length > MIN_PAGE_CHARS).slice(0, PAGES);
const pages = new Map([...saved.map(([, source], at) => [`/${at}`, source] as const), ['/button', BUTTON_PAGE]]);
const server = createServer(({ url = '' }, response) => {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }).end(pages.get(url));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
stack.defer(() => server.closeAllConnections());
stack.defer(() => void server.close());
const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const urls = saved.map((_, at) => `${site}/${at}`);

if (isSelected('one-process') || isSelected('click') || isSelected('start')) {
  await using app = await testBrowser({ settings: { browser: BROWSER } });
  console.log(`first start with a page: ${(await time(() => app.bus.call('browser.navigate', { url: `${site}/button` }))).toFixed(0)} ms`);
  const bare = await launchBare();
  if (isSelected('one-process')) await comparePages('one process', app.bus, bare, urls);
  if (isSelected('click')) await compareClicks('one process', app.bus, bare, `${site}/button`);
  await bare.close();
  await app.bus.call('browser.stop', {});
  if (isSelected('start')) await compareStarts(app.bus, `${site}/button`);
}
if (isSelected('cluster')) {
  await using cluster = new AsyncDisposableStack();
  const { host } = await startReplicas(cluster, ['one', 'two']);
  const bus = (await host.connect('gateway')).as(principal());
  const bare = await launchBare();
  await comparePages('cluster', bus, bare, urls);
  await compareClicks('cluster', bus, bare, `${site}/button`);
  await bare.close();
}
if (isSelected('memory')) await measureMemory(`${site}/0`);
