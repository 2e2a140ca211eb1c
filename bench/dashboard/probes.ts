import type { Page } from 'playwright-core';
import { quantile } from '../statistics.ts';

/** Frames, long tasks and memory of a page over some time. */
export interface Smoothness {
  framesPerSecond: number;
  longTasks: number;
  longestTaskMs: number;
  heapGrowthMiB: number;
}

/**
 * Runs in each document before its scripts. It records when contents are painted, tasks over 50 ms, and the time from a click to the end
 * of the frame that shows its effect. Scripts are texts, because the page has types that this program has not.
 */
export const PROBES = `
  globalThis.probes = { paintedAt: 0, longTasks: [], clicks: [], frames: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) probes.paintedAt = entry.startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) probes.longTasks.push(entry.duration);
  }).observe({ type: 'longtask', buffered: true });
  const afterFrame = (run) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = run;
    port2.postMessage(undefined);
  });
  addEventListener('click', (event) => afterFrame(() => probes.clicks.push(performance.now() - event.timeStamp)), true);
  probes.until = (selector, from) => new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(selector) === null) requestAnimationFrame(look);
      else afterFrame(() => resolve(performance.now() - from));
    };
    look();
  });
  const count = () => { probes.frames += 1; requestAnimationFrame(count); };
  requestAnimationFrame(count);
`;

/** Returns the time from the start of the navigation to the paint of the largest content, in milliseconds. */
export function readPaintTime(page: Page): Promise<number> {
  return page.evaluate('probes.paintedAt');
}

/** Returns the 95th percentile of the times from a click to its frame, in milliseconds. */
export async function readClickTime(page: Page): Promise<number> {
  return quantile(await page.evaluate<number[]>('probes.clicks'), 0.95);
}

/** Clicks a link of the navigation and returns the time until an element is painted, in milliseconds. */
export async function timeUntil(page: Page, title: string, selector: string): Promise<number> {
  const painted = page.evaluate<number>(
    `new Promise((resolve) => addEventListener('click', (event) => resolve(probes.until(${JSON.stringify(selector)}, event.timeStamp)), { capture: true, once: true }))`,
  );
  await page.getByRole('navigation').getByRole('link', { name: title, exact: true }).click();
  return painted;
}

/** Loads an address and returns the time from the start of the navigation until an element is painted, in milliseconds. */
export async function timeLoad(page: Page, address: string, selector: string): Promise<number> {
  await page.goto(address, { waitUntil: 'commit' });
  return page.evaluate(`probes.until(${JSON.stringify(selector)}, 0)`);
}

/** Measures a page while `run` works. */
export async function measureSmoothness(page: Page, run: () => Promise<unknown>): Promise<Smoothness> {
  const session = await page.context().newCDPSession(page);
  const readHeap = async (): Promise<number> => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const heap = await readHeap();
  await page.evaluate('probes.longTasks.length = 0; probes.frames = 0; probes.startedAt = performance.now(); 0');
  await run();
  const [frames, ms, tasks] = await page.evaluate<[number, number, number[]]>(
    '[probes.frames, performance.now() - probes.startedAt, probes.longTasks]',
  );
  const heapGrowth = (await readHeap()) - heap;
  await session.detach();
  return {
    framesPerSecond: (frames / ms) * 1_000,
    longTasks: tasks.length,
    longestTaskMs: Math.max(0, ...tasks),
    heapGrowthMiB: heapGrowth / 1_048_576,
  };
}
