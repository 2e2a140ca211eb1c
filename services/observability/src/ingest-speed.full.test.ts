// alone: measures the processor time of ingest
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { endTurn, getTurnId, readTotal, startObservability, waitUntil, type ObservabilityApp } from './observability.fixture.ts';

/** 86,400 are a day of one turn per second. */
const EVENTS = Number(process.env['SWITCHYARD_TEST_EVENTS'] ?? 20_000);
/** On one core. A day of one turn per second in a minute is 1,440 a second. */
const MIN_EVENTS_PER_SECOND = 2_000;
const MAX_TURN_MS = 40;
const PATIENCE_MS = 300_000;
/** Events that are published before the test waits for ingest. The log of a single process keeps 16 MB. */
const PUBLISHED_AT_ONCE = 5_000;
const SESSIONS = 500;

interface Speed {
  seconds: number;
  /** Processor time of this process, for publishing the events and ingesting them. */
  cpuSeconds: number;
  /** 95th percentile of the processor time of one turn of the event loop, which does not depend on other processes. */
  turnMs: number;
}

/** Measures the processor time of the turns of the event loop, each millisecond or, if a turn is longer, after it. */
function measureTurns(): { stop(): number[] } {
  const turns: number[] = [];
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    turns.push((user + system) / 1_000);
    before = process.threadCpuUsage();
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      return turns;
    },
  };
}

async function measureIngest(app: ObservabilityApp, events: number, t: TestContext): Promise<Speed> {
  const turns: number[] = [];
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  for (let n = 0; n < events; n += 1) {
    const sessionKey = `default:user${n % SESSIONS}:gateway`;
    await endTurn(app, { turnId: getTurnId(n), sessionKey, usage: { calls: 1, input: 10, output: 1, costUsd: 0.1 } });
    const published = n + 1;
    if (published % PUBLISHED_AT_ONCE !== 0 && published !== events) continue;
    const measured = measureTurns();
    await waitUntil(async () => (await app.readPosition()) >= published, `${published} events`, PATIENCE_MS);
    turns.push(...measured.stop());
  }
  const { user, system } = process.cpuUsage(cpu);
  // Turns in which nothing is ingested would hide the others. A few deliver the published events to subscribers.
  const busy = turns.filter((ms) => ms > 1);
  const turnMs = busy.toSorted((a, b) => a - b)[Math.floor(busy.length * 0.95)] ?? 0;
  assert.equal((await readTotal(app)).callCount, events, 'each event is billed once');
  const speed = { seconds: (performance.now() - started) / 1_000, cpuSeconds: (user + system) / 1e6, turnMs };
  const [rate, cpuRate] = [speed.seconds, speed.cpuSeconds].map((seconds) => Math.round(events / seconds));
  t.diagnostic(`${rate} events a second, ${cpuRate} a second of processor time; turns ${turnMs.toFixed(1)} ms at p95`);
  return speed;
}

test(
  'ingests 2,000 events per second of processor time on SQLite, a day of turns in a minute, without a long turn of the event loop',
  { timeout: 900_000 },
  async (t) => {
    await using app = await startObservability();
    const { cpuSeconds, turnMs } = await measureIngest(app, EVENTS, t);
    assert.ok(EVENTS / cpuSeconds > MIN_EVENTS_PER_SECOND, `${EVENTS / cpuSeconds} events per second of processor time`);
    assert.ok(turnMs < MAX_TURN_MS, `a turn of the event loop takes ${turnMs} ms`);
  },
);
