import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { dice, principal, testService } from '@switchyard/testkit';
import { memory } from '../service.ts';

const MEMORIES = 10_000;
const AT_ONCE = 100;
const SEARCHES = 200;
/** Maximum time that a search may block the event loop. */
const HELD_MS = 20;

/** Words with the frequencies of a natural language (Zipf). */
const WORDS = Array.from(
  { length: 4_000 },
  (_, n) => ['ta', 'ri', 'mo', 'ke', 'lu', 'so', 'ne', 'va'].map((part, at) => ((n >> at) & 1 ? part : '')).join('') + n.toString(36),
);

test('searches ten thousand memories quickly and without blocking the event loop', { timeout: 120_000 }, async (t) => {
  const { below } = dice(17);
  const word = (): string => WORDS[Math.floor(WORDS.length ** (below(1_000) / 1_000)) - 1] ?? 'tide';
  const sentence = (words: number): string => Array.from({ length: words }, word).join(' ');
  await using app = await testService(memory, { from: 'sessions', as: principal({ scopes: ['*'] }) });
  const one = { agentId: 'default', sessionKey: 'default:test:gateway', memoryType: 'semantic', outside: false } as const;
  for (let from = 0; from < MEMORIES; from += AT_ONCE) {
    const captured = Array.from({ length: AT_ONCE }, (_, at) => ({ ...one, turnId: `turn-${from + at}`, content: sentence(25) }));
    assert.equal((await app.bus.call('memory.capture', { captured })).stored, AT_ONCE);
  }
  assert.equal((await app.bus.call('memory.stats', {})).totalEntries, MEMORIES);

  await app.bus.call('memory.search', { query: 'a first one reads the vectors' });
  const took: number[] = [];
  const idle = await watchIdleThread();
  const before = process.threadCpuUsage();
  const watched = watchLoop();
  for (let n = 0; n < SEARCHES; n++) {
    const began = performance.now();
    const { results } = await app.bus.call('memory.search', { query: sentence(5) });
    took.push(performance.now() - began);
    assert.equal(results.length, 10);
  }
  const held = watched();
  const cpu = computedMs(process.threadCpuUsage(before)) / SEARCHES;
  const late = await idle();
  took.sort((a, b) => a - b);
  const at = (share: number): string => (took[Math.floor(share * took.length)] ?? 0).toFixed(1);
  t.diagnostic(
    `search p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; the loop was held for ${held.computed.toFixed(1)} ms at most, ${held.passed.toFixed(1)} ms by the clock, an idle thread beside it for ${late.toFixed(1)} ms`,
  );
  t.diagnostic(`processor time of this thread ${cpu.toFixed(2)} ms a search`);
  // The test compares CPU time, because a busy machine delays everything without using more CPU.
  assert.ok(cpu < 10, `${cpu} ms`);
  assert.ok(held.computed <= HELD_MS, `${held.computed} ms`);
});

/** The longest block of this thread, in CPU time and in wall time. A busy machine increases only the wall time. */
function watchLoop(): () => { computed: number; passed: number } {
  const longest = { computed: 0, passed: 0 };
  let [at, cpu] = [performance.now(), process.threadCpuUsage()];
  const look = (): void => {
    longest.computed = Math.max(longest.computed, computedMs(process.threadCpuUsage(cpu)));
    longest.passed = Math.max(longest.passed, performance.now() - at);
    [at, cpu] = [performance.now(), process.threadCpuUsage()];
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    look();
    return longest;
  };
}

function computedMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

/** The maximum delay of an idle thread, caused by the machine. */
async function watchIdleThread(): Promise<() => Promise<number>> {
  const source = `
    const { parentPort } = require('node:worker_threads');
    let [longest, at] = [0, performance.now()];
    setInterval(() => {
      longest = Math.max(longest, performance.now() - at);
      at = performance.now();
    }, 1);
    parentPort.on('message', () => parentPort.postMessage(longest));
    parentPort.postMessage(0);`;
  const thread = new Worker(source, { eval: true });
  await once(thread, 'message');
  return async () => {
    thread.postMessage('how long?', []);
    const [longest] = (await once(thread, 'message')) as [number];
    await thread.terminate();
    return longest;
  };
}
