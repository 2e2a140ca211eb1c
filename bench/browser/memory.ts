import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { principal, startProcess } from '@switchyard/testkit';
import { testBrowser } from '../../services/browser/src/browser.fixture.ts';
import { launchBare } from './bare-script.ts';

const SESSIONS = 6;
/** Chromium frees memory of a load after it. */
const SETTLE_MS = 5_000;

/** Proportional memory of the Chromium processes that descend from this process, in KiB. */
async function measureChromium(): Promise<number> {
  const parents = new Map<number, number>();
  const programs = new Set<number>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]));
    if (/\((chromium|chrome)/.test(stat)) programs.add(Number(entry));
  }
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  };
  const sizes = await Promise.all([...programs].filter(isOurs).map(readProportionalKib));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function readProportionalKib(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
}

/** Opens the page in one session, and then in the others. Returns the memory of Chromium, and of each further session. */
async function measureSessions(open: (at: number) => Promise<unknown>): Promise<{ first: number; further: number }> {
  await open(0);
  await delay(SETTLE_MS);
  const first = await measureChromium();
  for (let at = 1; at < SESSIONS; at += 1) await open(at);
  await delay(SETTLE_MS);
  return { first, further: ((await measureChromium()) - first) / (SESSIONS - 1) };
}

/** Starts the service in a process that prints `ready`, or a service without work that has the same contract. */
const MAIN = `
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
const { startService } = await import(process.env.MAIN_MODULE);
await startService();
const gc = runInNewContext('gc');
gc();
await new Promise((resolve) => setTimeout(resolve, 1_000));
gc();
console.log('ready');
setInterval(() => undefined, 1_000);
`;

async function measureProcess(file: 'browser-process.ts' | 'empty-process.ts'): Promise<number> {
  const env = { MAIN_MODULE: new URL(file, import.meta.url).href };
  await using child = await startProcess([process.execPath, '--input-type=module', '-e', MAIN], { env, ready: /ready/ });
  return readProportionalKib(child.pid);
}

const toMib = (kib: number): string => `${(kib / 1_024).toFixed(1)} MiB`;

/** Reports the memory of sessions beside those of a bare Chromium, and of the service without a browser. */
export async function measureMemory(url: string): Promise<void> {
  const bare = await launchBare();
  const their = await measureSessions(() => bare.open(url));
  await bare.close();
  await using app = await testBrowser({ settings: { browser: { allowLoopbackNavigation: true, timeoutMs: 20_000 } } });
  const our = await measureSessions((at) => app.bus.as(principal({ session: `s${at}` })).call('browser.navigate', { url }));
  const compared = (ours: number, theirs: number): string => `${toMib(ours)}, bare ${toMib(theirs)}, ${(ours / theirs).toFixed(2)}x`;
  console.log(`Chromium with one session: ${compared(our.first, their.first)}`);
  console.log(`each further session: ${compared(our.further, their.further)}`);
  console.log(
    `the service without a browser: ${toMib((await measureProcess('browser-process.ts')) - (await measureProcess('empty-process.ts')))} more`,
  );
}
