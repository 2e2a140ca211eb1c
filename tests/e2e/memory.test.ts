import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startUpstream, tempDir, type Upstream } from '@switchyard/testkit';
import { rest } from './clients.ts';
import { command, startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

interface Found {
  results: { id: string; content: string; score: number }[];
}

/** Replicas follow each other within a second; a busy machine takes longer. */
const PATIENCE_MS = 10_000;

async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; ;) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadline, 'it did not come');
    await wait(50);
  }
}

const search = (product: Running, query: string) => call<Found>(product, 'memory.search', { query });
let upstream: Upstream;

onEachProfile(
  'memory',
  (product) => {
    test('stores, finds, shows and deletes memories by CLI and REST', async () => {
      const stored = await call<{ id: string }>(product, 'memory.store', { content: 'The gate code is on the blue card.' });
      const { body, status } = await eventually(async () => {
        const answer = await rest(product, '/api/memory/search?q=gate%20card&limit=3');
        return (answer.body as unknown as Found).results.length > 0 ? answer : undefined;
      });
      const [first] = (body as unknown as Found).results;
      assert.deepEqual([status, first?.id, first?.content], [200, stored.id, 'The gate code is on the blue card.']);
      assert.deepEqual(Object.keys(first ?? {}).toSorted(), ['content', 'createdAt', 'id', 'memoryType', 'score', 'trustLevel']);
      const listed = await command(product, 'memory', 'list');
      assert.match(listed.stdout, new RegExp(`^${stored.id} .*blue card`, 'm'), listed.stderr);
      assert.match((await command(product, 'memory', 'show', stored.id)).stdout, /operator-stored/);
      assert.equal((await command(product, 'memory', 'forget', stored.id)).stdout, `${stored.id} forgotten\n`);
      assert.deepEqual(await search(product, 'gate card'), { results: [] }, 'on whichever replica');
      const { entries } = JSON.parse((await command(product, 'memory', 'export')).stdout) as { entries: unknown[] };
      assert.deepEqual(entries, []);
    });

    test('injects a memory into another conversation of the same client', async () => {
      const readText = (message: string, channelId: string) => call(product, 'agent.execute', { message, sessionKey: { channelId } });
      await readText('Remember that my locker has the number 4711.', 'one');
      await eventually(async () => ((await search(product, 'locker number')).results.length > 0 ? true : undefined));
      const inputs = await eventually(async () => {
        await readText('what is the number of my locker?', `other-${Date.now()}`);
        const messages = upstream.requests.at(-1)?.body.messages as { role: string; content: string }[];
        return messages.length > 1 ? messages : undefined;
      });
      assert.equal(inputs.at(-1)?.content, 'what is the number of my locker?');
      assert.match(inputs.at(-2)?.content ?? '', /"remembered":"Remember that my locker has the number 4711\."/);
    });
  },
  {
    async start(stack) {
      upstream = stack.use(await startUpstream());
      return { env: { OPENAI_API_KEY: 'sk-for-this-test', OPENAI_BASE_URL: upstream.url } };
    },
  },
);

test('keeps acknowledged writes and rebuilds an equal index when killed during writes', { timeout: 120_000 }, async () => {
  await using data = await tempDir();
  const stored = new Set<string>();
  {
    await using product = await startEmbedded({ data: data.path });
    let over = false;
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; !over; n++) {
        const content = `Note ${n} of writer ${writer}: the tide turns at ${n % 24}.`;
        const answer = await call<{ id: string }>(product, 'memory.store', { content }).catch(() => undefined);
        if (answer) stored.add(answer.id);
        else over = true;
      }
    });
    await eventually(async () => (stored.size >= 60 ? true : undefined));
    await product.process.end('SIGKILL');
    await Promise.all(writers);
  }
  const answers = async (): Promise<{ ids: Set<string>; all: unknown }> => {
    await using product = await startEmbedded({ data: data.path });
    const exported = await call<{ entries: { id: string }[]; totalEntries: number }>(product, 'memory.export', {});
    const stats = await call<{ totalEntries: number; embeddedEntries: number }>(product, 'memory.stats', {});
    assert.deepEqual([stats.totalEntries, stats.embeddedEntries], [exported.totalEntries, 0], 'no embedding model is configured');
    const searches = await Promise.all(['tide turns', 'writer 2', 'note 7', 'at 11'].map((query) => search(product, query)));
    return { ids: new Set(exported.entries.map(({ id }) => id)), all: { searches, exported: exported.entries } };
  };
  const before = await answers();
  for (const id of stored) assert.ok(before.ids.has(id), id);
  assert.ok(before.ids.size <= stored.size + 4, 'nothing twice, and no more than was being written');
  await rm(join(data.path, 'index'), { recursive: true });
  assert.deepEqual((await answers()).all, before.all);
});
