import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startMongo } from '@switchyard/testkit';
import { startObservability, waitUntil, type ObservabilityApp } from './observability.fixture.ts';

/** A day of one turn per second. */
const DAY_OF_EVENTS = Number(process.env['SWITCHYARD_TEST_EVENTS'] ?? 86_400);
/** The stand-in for MongoDB is several times slower than MongoDB itself. */
const MONGO_EVENTS = 10_000;
const MAX_DAY_SECONDS = 60;
const MIN_EVENTS_PER_SECOND = 2_000;
const MAX_TURN_MS = 20;
const PATIENCE_MS = 500_000;

interface Speed {
  seconds: number;
  /** Processor time of this process. */
  cpuSeconds: number;
  /** 99th percentile of the processor time of one turn of the event loop, which does not depend on other processes. */
  turnMs: number;
}

/** Measures the processor time of each turn of the event loop until it is stopped. */
function measureTurns(): { stop(): number[] } {
  const turns: number[] = [];
  let before = process.threadCpuUsage();
  let immediate: NodeJS.Immediate;
  function nextTurn(): void {
    const { user, system } = process.threadCpuUsage(before);
    turns.push((user + system) / 1_000);
    before = process.threadCpuUsage();
    immediate = setImmediate(nextTurn);
  }
  nextTurn();
  return {
    stop() {
      clearImmediate(immediate);
      return turns;
    },
  };
}

async function measureIngest(app: ObservabilityApp, events: number, t: TestContext): Promise<Speed> {
  const turns = measureTurns();
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  await waitUntil(async () => (await app.readPosition()) >= events, `${events} events`, PATIENCE_MS);
  const { user, system } = process.cpuUsage(cpu);
  // Turns in which nothing is ingested would hide the others.
  const busy = turns.stop().filter((ms) => ms > 1);
  const turnMs = busy.toSorted((a, b) => a - b)[Math.floor(busy.length * 0.99)] ?? 0;
  const speed = { seconds: (performance.now() - started) / 1_000, cpuSeconds: (user + system) / 1e6, turnMs };
  const [rate, cpuRate] = [speed.seconds, speed.cpuSeconds].map((seconds) => Math.round(events / seconds));
  t.diagnostic(`${rate} events a second, ${cpuRate} a second of processor time; turns ${turnMs.toFixed(1)} ms at p99`);
  return speed;
}

test(
  'replays a day of events from the log in under a minute on SQLite, without a long turn of the event loop',
  {
    timeout: 900_000,
  },
  async (t) => {
    await using app = await startObservability({ backlog: DAY_OF_EVENTS });
    const { cpuSeconds, turnMs } = await measureIngest(app, DAY_OF_EVENTS, t);
    assert.ok(cpuSeconds < MAX_DAY_SECONDS, `${cpuSeconds} seconds of processor time`);
    assert.ok(DAY_OF_EVENTS / cpuSeconds > MIN_EVENTS_PER_SECOND, `${DAY_OF_EVENTS / cpuSeconds} events a second`);
    assert.ok(turnMs < MAX_TURN_MS, `a turn of the event loop takes ${turnMs} ms`);
  },
);

test('ingests 2,000 events in a second of processor time with MongoDB', { timeout: 900_000 }, async (t) => {
  const mongo = await startMongo();
  try {
    await using app = await startObservability({ env: { SWITCHYARD_STORE: mongo.url }, backlog: MONGO_EVENTS });
    const { cpuSeconds } = await measureIngest(app, MONGO_EVENTS, t);
    assert.ok(MONGO_EVENTS / cpuSeconds > MIN_EVENTS_PER_SECOND, `${MONGO_EVENTS / cpuSeconds} events a second`);
  } finally {
    await mongo.stop();
  }
});
