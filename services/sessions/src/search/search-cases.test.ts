import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findSearchFaults, principal, SEARCH_CASES, startMongo, type MongoServer } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

async function assertFinds(env: Readonly<Record<string, string>>): Promise<void> {
  await using app = await testSessions({ env, as: admin });
  for (const [n, { text }] of SEARCH_CASES.entries())
    await app.bus.call('agent.execute', { message: text, sessionKey: { userId: `user-${n}` } });
  const search = async (query: string) => {
    const matches = await app.bus.call('session.search', { query });
    return matches.map(({ sessionKey }) => SEARCH_CASES[Number(/user-(\d+)/.exec(sessionKey)?.[1])]?.text ?? '');
  };
  assert.deepEqual(await findSearchFaults(search), []);
}

test('session.search finds words in any script on SQLite', () => assertFinds({}));

test('session.search finds words in any script on MongoDB', () => assertFinds({ SWITCHYARD_STORE: server.url }));
