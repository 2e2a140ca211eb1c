import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSessions, getTurnId } from '../../sessions.fixture.ts';

test('emits message:streaming once a second', async () => {
  await using app = await testSessions({ agents: { scripted: { model: 'dev/scripted' } } });
  const message = JSON.stringify([{ text: 'one ' }, { wait: 1_200 }, { text: 'two ' }, { wait: 60_000 }]);
  const turnId = getTurnId('spoken');
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message });
  const sent = [await app.nextEvent('message:streaming'), await app.nextEvent('message:streaming')];
  const about = { channelId: 'gateway', messageId: `${turnId}/1` };
  assert.deepEqual(sent, [
    { ...about, delta: 'one ', accumulated: 'one ' },
    { ...about, delta: 'two ', accumulated: 'one two ' },
  ]);
  await app.bus.call('agent.cancel', { turnId });
});
