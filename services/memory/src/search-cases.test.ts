import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findSearchFaults, principal, SEARCH_CASES, startMongo, testService, type MongoServer } from '@switchyard/testkit';
import { memory } from './service.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

async function assertFinds(env: Readonly<Record<string, string>>): Promise<void> {
  await using app = await testService(memory, { env, as: principal({ scopes: ['*'] }) });
  for (const { text } of SEARCH_CASES) await app.bus.call('memory.store', { content: text });
  const search = async (query: string) => (await app.bus.call('memory.search', { query })).results.map(({ content }) => content);
  assert.deepEqual(await findSearchFaults(search), []);
}

test('memory.search finds words in any script on SQLite', () => assertFinds({}));

test('memory.search finds words in any script on MongoDB', () => assertFinds({ SWITCHYARD_STORE: server.url }));
