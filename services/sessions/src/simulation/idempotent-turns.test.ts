import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendMessage, isWritten, settled, getPromptMessages, getTurn, twoReplicas, waitUntil } from './event-delivery.fixture.ts';

test('a turn that another replica has run under its key before it is enqueued does not run again', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { world, first, second } = await twoReplicas(undefined, seed);
    const accepted = sendMessage(first, 'one', { turn: 'turn_k', key: 'k' });
    await waitUntil(world, isWritten(world, 'one'));
    first.process.pause(5_000);
    await getPromptMessages(world, sendMessage(second, 'two', { turn: 'turn_k', key: 'k' }));
    await waitUntil(world, () => getTurn(world, 'one').state === 'done');
    const { status } = await getPromptMessages(world, accepted);
    await settled(world);
    assert.deepEqual([status, world.requests], ['fulfilled', ['turn_k']], `seed ${seed}`);
  }
});
