import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startService } from '@switchyard/service-kit';
import { principal, tempDir } from '@switchyard/testkit';
import { sessions } from '../service.ts';
import { putAgent, testSessions } from '../sessions.fixture.ts';

const KEY = 'default:test:gateway';
const admin = principal({ scopes: ['*'] });
const sendMessage = (message: string, userId = 'test') => ({ message, sessionKey: { userId } });

test('session.search finds a session by its messages directly after the turn and returns a snippet', async () => {
  await using app = await testSessions({ as: admin });
  const far = 'x '.repeat(200);
  await app.bus.call('agent.execute', sendMessage(`${far}The Harbour Master answers at noon. ${far}`));
  await app.bus.call('agent.execute', sendMessage('Something about lighthouses.', 'bob'));
  const [found, ...others] = await app.bus.call('session.search', { query: 'harbour master' });
  assert.deepEqual(others, []);
  assert.ok(found);
  const { sessionKey, agentId, channelType, snippet, score } = found;
  assert.deepEqual({ sessionKey, agentId, channelType, score }, { sessionKey: KEY, agentId: 'default', channelType: 'gateway', score: 1 });
  assert.match(snippet, /^….*The Harbour Master answers at noon\..*…$/);
  assert.ok(snippet.length <= 80 + 120 + 2);
  assert.equal(
    (await app.bus.call('session.search', { query: 'lighthouse' }))[0]?.sessionKey,
    'default:bob:gateway',
    'another form of the word',
  );
  assert.deepEqual(await app.bus.call('session.search', { query: 'zeppelin' }), []);
});

test('session.search returns each session once and at most limit sessions', async () => {
  await using app = await testSessions({ as: admin });
  for (let n = 0; n < 6; n += 1) await app.bus.call('agent.execute', sendMessage(`tide number ${n}`));
  for (const user of ['bob', 'eve', 'joe']) await app.bus.call('agent.execute', sendMessage('the tide', user));
  const matches = await app.bus.call('session.search', { query: 'tide', limit: 3 });
  assert.equal(new Set(matches.map(({ sessionKey }) => sessionKey)).size, 3);
  assert.equal((await app.bus.call('session.search', { query: 'tide' })).length, 4);
});

test('session.search omits reset and deleted sessions and finds later messages', async () => {
  await using app = await testSessions({ as: admin });
  await app.bus.call('agent.execute', sendMessage('the tide'));
  await app.bus.call('agent.execute', sendMessage('the tide', 'bob'));
  await app.bus.call('agent.execute', sendMessage('a harbour', 'eve'));
  assert.equal((await app.bus.call('session.search', { query: 'tide' })).length, 2);
  await app.bus.call('session.reset', { session_key: KEY });
  await app.bus.call('session.delete', { session_key: 'default:bob:gateway' });
  assert.deepEqual(await app.bus.call('session.search', { query: 'tide' }), []);
  await app.bus.call('agent.execute', sendMessage('a crane'));
  assert.equal((await app.bus.call('session.search', { query: 'crane' })).length, 1);
  assert.equal((await app.bus.call('session.search', { query: 'harbour' })).length, 1);
});

test('session.search returns the sessions of the tenant, or those of a client restricted to its own sessions', async () => {
  await using app = await testSessions({ as: admin });
  await putAgent(app.host.bus, 'default', { tenant: 'acme' });
  const mary = principal({ client: 'mary', scopes: ['*'] });
  const zoe = principal({ tenant: 'acme', client: 'zoe', scopes: ['*'] });
  for (const who of [mary, zoe]) await app.bus.as(who).call('agent.execute', { message: `the secret of ${who.client}` });
  const finds = async (who: typeof mary) =>
    (await app.bus.as(who).call('session.search', { query: 'secret' })).map(({ sessionKey }) => sessionKey);
  assert.deepEqual(await finds(zoe), ['acme:zoe:gateway']);
  assert.deepEqual(await finds(admin), ['default:mary:gateway']);
  assert.deepEqual(await finds({ ...mary, sessions: 'own' }), ['default:mary:gateway']);
  assert.deepEqual(await finds({ ...admin, sessions: 'own' }), []);
});

test('session.search rebuilds a lost or stale index and omits sessions deleted meanwhile', async () => {
  await using data = await tempDir();
  const found = async () => {
    await using app = await testSessions({ as: admin, data: data.path });
    return (await app.bus.call('session.search', { query: 'tide' })).map(({ sessionKey }) => sessionKey).toSorted();
  };
  {
    await using app = await testSessions({ as: admin, data: data.path });
    await app.bus.call('agent.execute', sendMessage('the tide'));
    assert.equal((await app.bus.call('session.search', { query: 'tide' })).length, 1);
    await using _other = await startService(sessions, app.host);
    await app.bus.call('agent.execute', sendMessage('the tide', 'bob'));
  }
  assert.deepEqual(await found(), ['default:bob:gateway', KEY]);
  await rm(join(data.path, 'index'), { recursive: true });
  assert.deepEqual(await found(), ['default:bob:gateway', KEY]);
  {
    await using app = await testSessions({ as: admin, data: data.path });
    await app.bus.call('session.delete', { session_key: KEY });
  }
  assert.deepEqual(await found(), ['default:bob:gateway']);
});
