import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintId } from '@switchyard/security';
import { principal } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const AGENTS = { agents: { oslo: { model: 'dev/echo' }, rome: { model: 'dev/echo' }, helper: { model: 'dev/tools' } } };
const everybody = principal({ client: 'mary', scopes: ['*'] });
const held = { ...everybody, agents: ['oslo', 'helper'] };
const NOT_FOUND = { code: 'NOT_FOUND' };

test('a token restricted to agents starts turns only with them, and with the first by default', async () => {
  await using app = await testSessions(AGENTS);
  const bus = app.bus.as(held);
  const unknown = { code: 'INVALID_ARGUMENT', details: { reason: 'UNKNOWN_AGENT' } };
  for (const agentId of ['rome', 'default', 'nobody']) {
    await assert.rejects(bus.call('agent.execute', { agentId, message: 'hello' }), unknown, agentId);
  }
  await bus.call('agent.execute', { message: 'hello' });
  await bus.call('agent.execute', { agentId: 'helper', message: 'hello' });
  const { sessions } = await bus.call('session.list', {});
  assert.deepEqual(sessions.map(({ agentId }) => agentId).sort(), ['helper', 'oslo']);
});

test('a stateless turn finds only the models of its agents', async () => {
  await using app = await testSessions(AGENTS);
  const run = (model: string) => Array.fromAsync(app.bus.as(held).stream('turns.run', { turnId: mintId('turn'), model, message: 'hello' }));
  for (const model of ['rome', 'default']) await assert.rejects(run(model), NOT_FOUND, model);
  const [accepted] = await run('dev/echo'); // A model shared by several agents runs with the first permitted one.
  assert.equal(accepted?.type === 'accepted' && accepted.agentId, 'oslo');
});

test('an agent-restricted token sees no session of other agents by key, in lists, in searches or through tools', async () => {
  await using app = await testSessions(AGENTS);
  const secret = 'the harbour opens at seven';
  await app.bus.as(everybody).call('agent.execute', { agentId: 'rome', message: secret });
  const key = (await app.bus.as(everybody).call('session.list', {})).sessions[0]?.sessionKey ?? '';
  const bus = app.bus.as(held);
  await assert.rejects(bus.call('session.history', { session_key: key }), NOT_FOUND);
  await assert.rejects(bus.call('session.delete', { session_key: key }), NOT_FOUND);
  assert.deepEqual(await bus.call('session.list', {}), { sessions: [], total: 0 });
  assert.deepEqual(await bus.call('session.search', { query: 'harbour' }), []);
  assert.equal((await bus.call('context.conversations', {})).total, 0);
  const { response } = await bus.call('agent.execute', { agentId: 'helper', message: `session_history {"session_key":"${key}"}` });
  assert.match(response, /NOT_FOUND/);
  assert.doesNotMatch(response, /seven/);
});
