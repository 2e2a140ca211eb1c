import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dice, principal, testService } from '@switchyard/testkit';
import { memory } from '../service.ts';

const MEMORIES = 10_000;
const AT_ONCE = 100;
const SEARCHES = 200;
/** Maximum processor time that a search may block the event loop. */
const MAX_BLOCK_MS = 20;

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
  const queries = Array.from({ length: SEARCHES }, () => sentence(5));
  const before = process.threadCpuUsage();
  const first = await search(queries);
  const second = await search(queries);
  const cpu = computedMs(process.threadCpuUsage(before)) / (2 * SEARCHES);

  // A garbage collection or a busy machine lengthens some searches. A search that blocks by itself is long in both rounds.
  const longest = Math.max(...first.map((search, n) => Math.min(search.blockedMs, second[n]?.blockedMs ?? 0)));
  const took = [...first, ...second].map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const percentile = (share: number): string => (took[Math.floor(share * took.length)] ?? 0).toFixed(1);
  t.diagnostic(`search p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms; ${cpu.toFixed(2)} ms of processor time a search`);
  t.diagnostic(`a search blocked the event loop for at most ${longest.toFixed(1)} ms of processor time`);
  assert.ok(cpu < 10, `${cpu} ms`);
  assert.ok(longest <= MAX_BLOCK_MS, `${longest} ms`);

  async function search(queries: readonly string[]): Promise<{ tookMs: number; blockedMs: number }[]> {
    const measured = [];
    for (const query of queries) {
      const began = performance.now();
      const longestBlock = watchEventLoop();
      const { results } = await app.bus.call('memory.search', { query });
      measured.push({ tookMs: performance.now() - began, blockedMs: longestBlock() });
      assert.equal(results.length, 10);
    }
    return measured;
  }
});

/** Gives the longest block of the event loop since the call, in milliseconds of this thread's processor time. */
function watchEventLoop(): () => number {
  let longest = 0;
  let at = process.threadCpuUsage();
  const look = (): void => {
    longest = Math.max(longest, computedMs(process.threadCpuUsage(at)));
    at = process.threadCpuUsage();
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
