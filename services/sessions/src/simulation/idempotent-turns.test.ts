import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, isWritten, settled, told, turnOf, twoReplicas, until } from './event-delivery.fixture.ts';

test('a turn that another replica has run under its key before it is enqueued does not run again', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { world, first, second } = await twoReplicas(undefined, seed);
    const accepted = ask(first, 'one', { turn: 'turn_k', key: 'k' });
    await until(world, isWritten(world, 'one'));
    first.process.pause(5_000);
    await told(world, ask(second, 'two', { turn: 'turn_k', key: 'k' }));
    await until(world, () => turnOf(world, 'one').state === 'done');
    const { status } = await told(world, accepted);
    await settled(world);
    assert.deepEqual([status, world.asked], ['fulfilled', ['turn_k']], `seed ${seed}`);
  }
});
