import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { linesWritten, type Running } from './embedded.ts';
import { watchLoad } from './load.ts';
import { malformed, sendBytes, getTargets, type Malformed, type OpenApi, type Target } from './malformed.ts';
import { onEachProfile } from './profiles.ts';
import { isQuick } from './suite.ts';

/** Number of requests; docs/reliability.md describes the long run. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? (isQuick() ? 300 : 1_500));
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
/** A response later than this is a hang. */
const HANG_MS = Number(process.env['FUZZ_HANG_MS'] ?? 5_000);
const SLOW_MS = 100;
/** Longest allowed block of the event loop. Other tests share the processors; on an idle machine, 150 ms are enough. */
const MAX_LOOP_MS = Number(process.env['FUZZ_LOOP_MS'] ?? 1_000);
/** A busy event loop is delayed longer by other load than an idle one. */
const BUSIER = 3;
const POLL_INTERVAL_MS = 1_000;
const AT_ONCE = 4;

const budgets = { perHour: 1_000_000_000_000, perDay: 1_000_000_000_000 };
const daemon = { eventLoopDelayThresholdMs: SLOW_MS / 2, metricsIntervalMs: POLL_INTERVAL_MS };

/** The longest block of the event loop that the process logged later than one interval after this time, in milliseconds. */
async function getLongestBlock(product: Running, from: number): Promise<number> {
  const lines = (await linesWritten(product)).filter((line) => line.includes('the event loop was blocked'));
  const texts = lines.map((line) => JSON.parse(line) as { time: string | number; maxMs: number });
  return Math.max(0, ...texts.filter(({ time }) => new Date(time).getTime() > from + POLL_INTERVAL_MS).map(({ maxMs }) => maxMs));
}

async function assertShortBlocks(product: Running, since: number, keptMs: number): Promise<void> {
  const longest = await getLongestBlock(product, since);
  assert.ok(
    longest <= MAX_LOOP_MS + BUSIER * keptMs,
    `the event loop was blocked for ${longest} ms, and an idle one beside it was delayed by ${Math.round(keptMs)} ms`,
  );
}

onEachProfile(
  'malformed requests',
  (product, profile) => {
    test(`${REQUESTS} malformed requests to every route, seed ${SEED}`, { timeout: REQUESTS * 100 + 60_000 }, async (t) => {
      const response = await fetch(`${product.url}/openapi.json`, { headers: { authorization: `Bearer ${product.token}` } });
      const targets = getTargets((await response.json()) as OpenApi);
      const began = Date.now();
      using load = watchLoad();
      const reached = new Set<Target>();
      const statuses = new Map<number | 'none', number>();
      let longest = 0;
      let slow = 0;
      const judge = async (sent: Malformed): Promise<void> => {
        const { target, bytes, broken } = sent;
        const { status, ms, text } = await sendBytes(product.url, sent, HANG_MS);
        reached.add(target);
        statuses.set(status ?? 'none', (statuses.get(status ?? 'none') ?? 0) + 1);
        longest = Math.max(longest, ms);
        if (ms > SLOW_MS) slow += 1;
        const description = `${JSON.stringify(bytes.toString('latin1').slice(0, 1_500))}\n${text}`;
        assert.ok(status !== undefined || broken, `no answer to ${description}`);
        assert.ok((status ?? 0) < 500 || target.declared.has(status ?? 0), `${status} is not declared: ${description}`);
        assert.doesNotMatch(text, /\bat \S+ \(|\.ts:\d|node_modules/, `a stack is in the answer: ${description}`);
      };
      const batch = fc.array(malformed(targets, product.token), { minLength: AT_ONCE, maxLength: AT_ONCE });
      const property = fc.asyncProperty(batch, async (all) => void (await Promise.all(all.map(judge))));
      await fc.assert(property, { seed: SEED, numRuns: Math.ceil(REQUESTS / AT_ONCE), endOnFailure: true });
      // Chance leaves out a route now and then.
      for (const target of targets.filter((route) => !reached.has(route)))
        await fc.assert(fc.asyncProperty(malformed([target], product.token), judge), { seed: SEED, numRuns: 1 });
      assert.equal(reached.size, targets.length, 'every route was asked');
      assert.equal((await fetch(`${product.url}/readyz`)).status, 200);
      t.diagnostic(
        `longest ${Math.round(longest)} ms, ${slow} beyond ${SLOW_MS} ms, ${targets.length} routes, ${JSON.stringify(Object.fromEntries(statuses))}`,
      );
      // A cluster shares the processors with other tests, and its log interval is not set here.
      if (profile === 'embedded') await assertShortBlocks(product, began, load.most());
    });
  },
  { start: () => ({ config: { daemon, agents: { default: { budgets } } } }), shareCluster: true },
);
