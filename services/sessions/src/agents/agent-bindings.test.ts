import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';
import { getBindings } from './agent-bindings.ts';

const alice = { tenant: 'default', userId: 'alice', channelId: 'telegram:42' };

test('the most specific binding wins; among equals the first', () => {
  const bindings = getBindings({
    defaultAgentId: 'default',
    bindings: [
      { agentId: 'anybody' },
      { channelType: 'telegram', agentId: 'kind' },
      { channelType: 'telegram', agentId: 'late' },
      { guildId: 'them', channelType: 'telegram', agentId: 'group' },
      { channelId: 'telegram:42', agentId: 'channel' },
      { peerId: 'bob', agentId: 'peer' },
    ],
  });
  const of = (more: object): string | undefined => bindings?.findAgentId({ ...alice, ...more });
  assert.deepEqual(
    [
      of({ peerId: 'bob', guildId: 'them' }),
      of({ guildId: 'them' }),
      of({ channelId: 'telegram:7', guildId: 'them' }),
      of({ channelId: 'telegram' }),
      of({ channelId: 'gateway' }),
    ],
    ['peer', 'channel', 'group', 'kind', undefined],
  );
});

test('a message without an agent is answered by the bound agent of its channel; other messages are not affected', async () => {
  const bindings = ['one', 'gone', 'other'].map((agentId) => ({ channelType: agentId === 'other' ? 'shop' : 'desk', agentId }));
  const agents = { one: { model: 'dev/scripted' }, other: {} };
  await using app = await testSessions({ agents, settings: { routing: { bindings } } });
  const { bus } = app;
  const sendMessage = async (more: object, as = bus): Promise<string | undefined> =>
    (await as.call('agent.execute', { message: '[{"text":"hello"}]', ...more })).sessionKey;
  assert.equal(await sendMessage({ sessionKey: { channelId: 'desk:1' } }), 'agent:one:default:test:desk:1');
  assert.equal(await sendMessage({ sessionKey: { channelId: 'shop' } }), 'agent:other:default:test:shop');
  assert.equal(await sendMessage({ sessionKey: { channelId: 'street' } }), 'default:test:street');
  assert.equal(await sendMessage({}), 'default:test:gateway');
  assert.equal(await sendMessage({ agentId: 'other', sessionKey: { channelId: 'desk:1' } }), 'agent:other:default:test:desk:1');
  const sent = await bus.call('session.send', { key: 'default:test:desk:1', message: 'hello' });
  assert.equal(sent.sessionKey, 'default:test:desk:1', 'who gives a key means that session');
  const held = bus.as(principal({ client: 'bob', agents: ['other'] }));
  assert.equal(
    await sendMessage({ sessionKey: { channelId: 'desk' } }, held),
    'agent:other:default:bob:desk',
    'one it may not use answers nobody',
  );
  const [message, sessionKey] = ['[{"wait":60000}]', { channelId: 'desk:2' }];
  const { turnId } = await bus.call('agent.start', { message, sessionKey });
  const { turns } = await bus.call('agent.cancel', { sessionKey });
  assert.deepEqual(turns, [{ turnId, state: 'cancelled' }], 'cancelled is where it was said');
});

test('a binding to a missing agent is ignored', async () => {
  await using app = await testSessions({ settings: { routing: { bindings: [{ channelType: 'desk', agentId: 'gone' }] } } });
  const { sessionKey } = await app.bus.call('agent.execute', { message: 'hello', sessionKey: { channelId: 'desk' } });
  assert.equal(sessionKey, 'default:test:desk');
});
