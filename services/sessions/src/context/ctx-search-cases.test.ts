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
  for (const { text } of SEARCH_CASES) await app.bus.call('agent.execute', { message: text });
  const session = await app.host.connect('sessions');
  const bus = session.as(principal({ scopes: ['*'], session: 'default:test:gateway', agent: 'default' }));
  const search = async (query: string) => {
    const { results } = await bus.call('ctx.search', { query });
    return [...new Set(results.map(({ turn }) => SEARCH_CASES[(turn ?? 0) - 1]?.text ?? ''))];
  };
  assert.deepEqual(await findSearchFaults(search), []);
}

test('ctx.search finds words in any script on SQLite', () => assertFinds({}));

test('ctx.search finds words in any script on MongoDB', () => assertFinds({ SWITCHYARD_STORE: server.url }));
