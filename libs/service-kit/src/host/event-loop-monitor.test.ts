import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Configuration, observability } from '@switchyard/contracts';
import { watchEventLoop } from './event-loop-monitor.ts';

const getDaemon = (daemon: object) => ({ current: Configuration.parse({ daemon }) });

/** Blocks the event loop. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

/** Returns the warnings while the process is busy and then idle. */
async function readText(threshold: number, published: unknown[] = []): Promise<object[]> {
  const lines: object[] = [];
  const settings = getDaemon({ metricsIntervalMs: 150, eventLoopDelayThresholdMs: threshold });
  using _watched = watchEventLoop({
    settings,
    log: { warn: (fields: unknown) => void lines.push(fields as object) },
    emit: (metrics) => void published.push(metrics),
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  block(90);
  await new Promise((resolve) => setTimeout(resolve, 250));
  return lines;
}

test('logs an event-loop delay above the threshold', { timeout: 60_000 }, async () => {
  const [line] = (await readText(60)) as { maxMs?: number; thresholdMs?: number }[];
  assert.ok((line?.maxMs ?? 0) >= 60 && line?.thresholdMs === 60, JSON.stringify(line));
  assert.deepEqual(await readText(60_000), []);
});

test('publishes the figures of the process as its contract declares them', { timeout: 60_000 }, async () => {
  const published: unknown[] = [];
  await readText(60_000, published);
  const { payload } = observability.events['observability:metrics'];
  const [metrics] = published.map((one) => payload.parse(one));
  assert.ok(metrics && metrics.rssBytes > 1_000_000 && metrics.eventLoopDelayMs.max >= 60, JSON.stringify(metrics));
});
