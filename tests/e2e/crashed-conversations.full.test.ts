import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { tempDir } from '@switchyard/testkit';
import { startEmbedded, type Running } from './embedded.ts';
import { sendRequest, call } from './exchange.ts';

/** Number of kills, at random times. 200 take about ten minutes. */
const KILLS = Number(process.env['SWITCHYARD_TEST_KILLS'] ?? 1);
const CHANNELS = ['one', 'two', 'three'];
const TURNS = 4;
const DEADLINE_MS = 700;
const PATIENCE_MS = 30_000;
/** Longer than a turn on a busy machine. */
const TURN_MS = 200;

/** Every message becomes a memory, and conversations exceed the context early. */
const configured = (compactionModel: string) => ({
  // Many kills create many memories, and the test searches for all of them.
  memory: { compaction: { enabled: false } },
  agents: {
    default: {
      model: 'dev/echo',
      maxContextChars: 1_000,
      rag: { capture: 'all' },
      contextEngine: {
        contextThreshold: 0.1,
        freshTailTurns: 1,
        leafMinFanout: 2,
        condensedMinFanout: 2,
        compactionModel,
      },
    },
  },
});
/** Every second summary takes seconds, so that a kill interrupts one. */
const getConfig = (kill: number) => configured(kill % 2 === 0 ? 'dev/slow' : 'dev/echo');
const config = configured('dev/echo');

const message = (channel: string, n: number): string => `${channel}, ${n}: the tide turns at ${n % 24}.`;

/** Progress of each conversation. Unanswered messages are retried with the same key. */
type Said = Map<string, number>;

/** Retries until there is an answer, or until the process is killed. */
async function talk({ product, messages: texts, gone }: Talking, channel: string, upTo: number): Promise<void> {
  let why: unknown;
  for (const deadline = Date.now() + PATIENCE_MS + upTo * TURN_MS; (texts.get(channel) ?? 0) < upTo;) {
    const n = texts.get(channel) ?? 0;
    const request = { message: message(channel, n), sessionKey: { channelId: channel }, idempotencyKey: `${channel}${n}` };
    const answer = await sendRequest(product, 'agent.execute', request).catch((error: unknown) => void (why = error));
    if (answer?.result !== undefined) texts.set(channel, n + 1);
    else if (gone.aborted) return;
    else {
      why = answer?.error ?? why;
      assert.ok(Date.now() < deadline, `${channel} has come to ${n} of ${upTo}: ${JSON.stringify(why)}`);
      await wait(20);
    }
  }
}

interface Talking {
  product: Running;
  messages: Said;
  /** The process was killed. */
  gone: AbortSignal;
}

async function remembered(product: Running): Promise<string[]> {
  const { entries } = await call<{ entries: { content: string }[] }>(product, 'memory.export');
  return entries.map(({ content }) => content).toSorted();
}

test('loses and duplicates nothing when killed during turns, memory writes and compaction', async (t) => {
  await using data = await tempDir();
  const said: Said = new Map();
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await using product = await startEmbedded({ data: data.path, config: getConfig(kill) });
    const killed = new AbortController();
    const talks = CHANNELS.map((channel) => talk({ product, messages: said, gone: killed.signal }, channel, Infinity));
    await wait(Math.random() * DEADLINE_MS);
    killed.abort();
    await product.process.end('SIGKILL');
    await Promise.all(talks);
  }
  const upTo = Math.max(KILLS * TURNS, ...CHANNELS.map((channel) => (said.get(channel) ?? 0) + 1));
  const turns = Array.from({ length: upTo }, (_, n) => n);
  const requests = CHANNELS.flatMap((channel) => turns.map((n) => `Asked: ${message(channel, n)}`)).toSorted();
  let before: unknown;
  {
    await using product = await startEmbedded({ data: data.path, config });
    const { signal: gone } = new AbortController();
    await Promise.all(CHANNELS.map((channel) => talk({ product, messages: said, gone }, channel, upTo)));
    const until = Date.now() + PATIENCE_MS;
    while ((await remembered(product)).length < requests.length && Date.now() < until) await wait(KILLS > 1 ? 500 : 50);
    assert.deepEqual(
      (await remembered(product)).map((content) => content.split('\n')[0]),
      requests,
    );
    let summaries = 0;
    for (const channel of CHANNELS) {
      const { messages } = await call<{ messages: { role: string; content: string }[] }>(product, 'session.export', {
        session_key: `default:${product.client}:${channel}`,
      });
      const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
      assert.deepEqual(
        said,
        turns.map((n) => message(channel, n)),
      );
      const { nodes } = await call<{ nodes: { summaryId: string; childIds: string[] }[] }>(product, 'context.tree', {
        conversation_id: `default:${product.client}:${channel}`,
      });
      const known = new Set(nodes.map(({ summaryId }) => summaryId));
      for (const { childIds } of nodes) for (const child of childIds) assert.ok(known.has(child), child);
      summaries += nodes.length;
    }
    t.diagnostic(`${requests.length} turns, ${KILLS} kills, ${summaries} summaries`);
    before = await searched(product);
  }
  await rm(join(data.path, 'index'), { recursive: true });
  await using product = await startEmbedded({ data: data.path, config });
  assert.deepEqual(await searched(product), before, 'the index that was thrown away is rebuilt equal');
});

async function searched(product: Running): Promise<unknown> {
  return Promise.all(['tide turns', 'two', 'at 3'].map((query) => call(product, 'memory.search', { query, limit: 20 })));
}
