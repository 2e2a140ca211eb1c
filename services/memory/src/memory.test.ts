import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Principal } from '@switchyard/contracts';
import { principal, startMongo, tempDir, testService, type MongoServer, type TestService } from '@switchyard/testkit';
import { memory } from './service.ts';

const admin = (more: Partial<Principal> = {}): Principal => ({ ...principal({ scopes: ['*'] }), tenant: `t-${randomUUID()}`, ...more });

/** Tests for every database. Each test has its own tenant. */
function onStore(name: string, open: () => Promise<TestService>): void {
  describe(`memory on ${name}`, () => {
    let app: TestService;
    before(async () => void (app = await open()));
    after(() => app[Symbol.asyncDispose]());
    const as = (more: Partial<Principal> = {}) => app.bus.as(admin(more));

    test('finds a stored memory at once by its words', async () => {
      const bus = as({ client: 'alice' });
      const { id, stored } = await bus.call('memory.store', { content: 'The printer is on the second floor.', metadata: { by: 'hand' } });
      assert.equal(stored, true);
      const { results } = await bus.call('memory.search', { query: 'where is the printer?' });
      assert.deepEqual(
        results.map(({ id: found, content, memoryType, trustLevel, metadata }) => ({ found, content, memoryType, trustLevel, metadata })),
        [
          {
            found: id,
            content: 'The printer is on the second floor.',
            memoryType: 'semantic',
            trustLevel: 'learned',
            metadata: { by: 'hand' },
          },
        ],
      );
      const [first] = results;
      assert.equal(first?.score, 1, 'first in both lanes has the highest score');
      assert.deepEqual(first.source, { who: 'alice', channel: 'web-console' });
      assert.deepEqual(first.tags, ['operator-stored']);
      assert.equal('embedding' in first, false);
    });

    test('hides memories from other tenants in all methods', async () => {
      const documents = as();
      const { id } = await documents.call('memory.store', { content: 'The vault opens with seven turns.' });
      const theirs = as();
      assert.deepEqual(await theirs.call('memory.search', { query: 'vault' }), { results: [] });
      assert.deepEqual(await theirs.call('memory.inspect', { id }), {});
      await assert.rejects(theirs.call('memory.delete', { id }), { code: 'NOT_FOUND' });
      assert.equal((await theirs.call('memory.stats', {})).totalEntries, 0);
      assert.equal((await theirs.call('memory.browse', {})).total, 0);
      assert.equal((await theirs.call('memory.export', {})).totalEntries, 0);
      assert.equal((await theirs.call('memory.flush', {})).deletedCount, 0);
      assert.equal((await documents.call('memory.inspect', { id })).entry?.id, id);
    });

    test('memory.inspect returns nothing for another tenant', async () => {
      const me = admin();
      const bus = app.bus.as(me);
      const { id } = await bus.call('memory.store', { content: 'Tea at five.' });
      assert.deepEqual(await bus.call('memory.inspect', { id, tenantId: 'default' }), {});
      assert.deepEqual(await bus.call('memory.inspect', { tenantId: 'default' }), {});
      assert.equal((await bus.call('memory.inspect', { id, tenantId: me.tenant })).entry?.tenantId, me.tenant);
      assert.equal((await bus.call('memory.inspect', {})).stats?.totalEntries, 1);
    });

    test('searches the memories of the calling, the named or the default agent', async () => {
      const me = admin();
      const bus = app.bus.as(me);
      await bus.call('memory.store', { content: 'Oslo is cold.', agent_id: 'weather' });
      await bus.call('memory.store', { content: 'Oslo is far.' });
      const contents = async (who: Principal, more = {}): Promise<string[]> =>
        (await app.bus.as(who).call('memory.search', { query: 'oslo', ...more })).results.map(({ content }) => content);
      assert.deepEqual(await contents(me), ['Oslo is far.']);
      assert.deepEqual(await contents(me, { agent_id: 'weather' }), ['Oslo is cold.']);
      assert.deepEqual(await contents({ ...me, agent: 'weather' }), ['Oslo is cold.']);
      await assert.rejects(contents({ ...me, agent: 'weather' }, { agent_id: 'default' }), { code: 'PERMISSION_DENIED' });
    });

    test('hides memories of other agents, also by id', async () => {
      const me = admin();
      const { id } = await app.bus.as(me).call('memory.store', { content: 'Between us.', agent_id: 'one' });
      assert.deepEqual(await app.bus.as({ ...me, agent: 'other' }).call('memory.inspect', { id }), {});
      assert.equal((await app.bus.as({ ...me, agent: 'one' }).call('memory.inspect', { id })).entry?.id, id);
    });

    test('a token limited to its own sessions finds its own and shared memories and deletes only its own', async () => {
      const tenant = `t-${randomUUID()}`;
      const [fixture, ann, bob] = [
        as({ tenant }),
        as({ tenant, client: 'ann', sessions: 'own' }),
        as({ tenant, client: 'bob', sessions: 'own' }),
      ];
      const shared = await fixture.call('memory.store', { content: 'The office closes at six.' });
      const anns = await ann.call('memory.store', { content: 'Ann leaves the office at four.' });
      const found = async (bus: typeof ann): Promise<string[]> =>
        (await bus.call('memory.search', { query: 'office' })).results.map(({ id }) => id).toSorted();
      assert.deepEqual(await found(ann), [shared.id, anns.id].toSorted());
      assert.deepEqual(await found(bob), [shared.id]);
      assert.deepEqual(await found(fixture), [shared.id, anns.id].toSorted(), 'a token for the tenant finds all');
      assert.equal((await bob.call('memory.browse', {})).total, 1);
      assert.equal((await bob.call('memory.stats', {})).totalEntries, 1);
      assert.equal((await bob.call('memory.export', {})).totalEntries, 1);
      assert.deepEqual(await bob.call('memory.inspect', { id: anns.id }), {});
      await assert.rejects(bob.call('memory.delete', { id: anns.id }), { code: 'NOT_FOUND' });
      await assert.rejects(bob.call('memory.delete', { id: shared.id }), { code: 'NOT_FOUND' });
      await assert.rejects(bob.call('memory.flush', {}), { code: 'PERMISSION_DENIED' });
      assert.equal((await ann.call('memory.delete', { id: anns.id })).deleted, true);
    });

    test('memory.delete removes a memory everywhere and fails the second time', async () => {
      const bus = as();
      const { id } = await bus.call('memory.store', { content: 'A slip of the tongue.', metadata: { secret: 'yes' } });
      assert.deepEqual(await bus.call('memory.delete', { id }), { id, deleted: true });
      assert.deepEqual(await bus.call('memory.search', { query: 'tongue' }), { results: [] });
      assert.deepEqual(await bus.call('memory.inspect', { id }), {});
      assert.equal((await bus.call('memory.stats', {})).totalEntries, 0);
      await assert.rejects(bus.call('memory.delete', { id }), { code: 'NOT_FOUND' });
    });

    test('memory.flush deletes all memories of the tenant and returns the count', async () => {
      const bus = as();
      for (const n of [1, 2, 3]) await bus.call('memory.store', { content: `Number ${n}.`, agent_id: `a${n}` });
      assert.deepEqual(await bus.call('memory.flush', {}), { flushed: true, deletedCount: 3 });
      assert.equal((await bus.call('memory.stats', {})).totalEntries, 0);
      assert.equal((await bus.call('memory.export', {})).totalEntries, 0);
      assert.deepEqual(await bus.call('memory.flush', {}), { flushed: true, deletedCount: 0 });
    });

    test('memory.browse pages through filtered memories, newest first, with truncated texts', async () => {
      const bus = as();
      const ids: string[] = [];
      for (const n of [0, 1, 2, 3, 4]) {
        const { id } = await bus.call('memory.store', {
          content: `${n} `.repeat(400),
          memory_type: n % 2 === 0 ? 'episodic' : 'procedural',
          tags: n > 2 ? ['late', `n${n}`] : ['early'],
          agent_id: n === 4 ? 'last' : 'default',
        });
        ids.unshift(id);
        await new Promise((resolve) => void setTimeout(resolve, 2)); // distinct timestamps
      }
      const page = async (params: object) => bus.call('memory.browse', params);
      const first = await page({ limit: 2 });
      assert.deepEqual([first.entries.map(({ id }) => id), first.total, first.hasMore], [ids.slice(0, 2), 5, true]);
      assert.equal(first.entries[0]?.content.length, 500);
      const last = await page({ limit: 2, offset: 4 });
      assert.deepEqual([last.entries.map(({ id }) => id), last.hasMore], [ids.slice(4), false]);
      assert.deepEqual(
        (await page({ sort: 'oldest' })).entries.map(({ id }) => id),
        ids.toReversed(),
      );
      assert.equal((await page({ memory_type: 'episodic' })).total, 3);
      assert.equal((await page({ tags: ['late', 'n3'] })).total, 1);
      assert.equal((await page({ agent_id: 'last' })).total, 1);
      assert.equal((await page({ trust_level: 'external' })).total, 0);
      assert.equal((await page({ trust_level: 'learned' })).total, 5);
    });

    test('memory.export returns all memories of the tenant, oldest first', async () => {
      const bus = as();
      const contents = Array.from({ length: 7 }, (_, n) => `${n} `.repeat(300));
      for (const content of contents) await bus.call('memory.store', { content, agent_id: 'any' });
      const { entries, totalEntries } = await bus.call('memory.export', {});
      assert.deepEqual([totalEntries, entries.map(({ content }) => content).toSorted()], [7, contents.toSorted()]);
      assert.ok(entries.every((one, at) => at === 0 || (entries[at - 1]?.createdAt ?? 0) <= one.createdAt));
    });

    test('memory.stats counts by type, trust level and agent', async () => {
      const bus = as();
      await bus.call('memory.store', { content: 'One.', memory_type: 'working', agent_id: 'a' });
      await bus.call('memory.store', { content: 'Two.', memory_type: 'working' });
      const { dbSizeBytes, oldestCreatedAt, cacheHitRate: _, ...counted } = await bus.call('memory.stats', {});
      assert.deepEqual(counted, {
        totalEntries: 2,
        byType: { working: 2 },
        byTrustLevel: { learned: 2 },
        byAgent: { a: 1, default: 1 },
        totalSessions: 0,
        embeddedEntries: 0,
      });
      assert.ok(dbSizeBytes > 100 && (oldestCreatedAt ?? 0) > 0);
    });

    test('hides expired memories', async () => {
      const bus = as();
      const soon = await bus.call('memory.store', { content: 'The code is 1234.', expires_at: Date.now() - 1 });
      const later = await bus.call('memory.store', { content: 'The code is 5678.', expires_at: Date.now() + 60_000 });
      assert.deepEqual(
        (await bus.call('memory.search', { query: 'code' })).results.map(({ id }) => id),
        [later.id],
      );
      assert.deepEqual(await bus.call('memory.inspect', { id: soon.id }), {});
      assert.equal((await bus.call('memory.browse', {})).total, 1);
      assert.equal((await bus.call('memory.stats', {})).totalEntries, 1);
      assert.equal((await bus.call('memory.export', {})).totalEntries, 1);
    });
  });
}

onStore('SQLite', () => testService(memory));

let server: MongoServer | undefined;
onStore('MongoDB', async () => {
  server = await startMongo();
  return testService(memory, { env: { SWITCHYARD_STORE: server.url } });
});
after(() => server?.stop());

test('memories survive a restart, and the index is reused', async () => {
  await using data = await tempDir();
  {
    await using app = await testService(memory, { data: data.path, as: admin({ tenant: 'acme' }) });
    await app.bus.call('memory.store', { content: 'The boiler needs water each May.' });
  }
  await using again = await testService(memory, { data: data.path, as: admin({ tenant: 'acme' }) });
  assert.equal((await again.bus.call('memory.search', { query: 'boiler' })).results.length, 1);
});
