import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorld, startReplica } from '../simulation/story.fixture.ts';
import { ask, settled, told, turnOf, until } from '../simulation/telling.fixture.ts';

test('no more turns of an agent run at once than it has room for, whatever comes while one ends', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const world = createWorld({ seed });
    const replica = startReplica(world);
    const begin = (name: string, session: string): Promise<unknown> =>
      ask(replica, name, { agentId: 'narrow', session: `default:alice:${session}`, pace: 5 });
    await told(world, begin('first', 'one'));
    // Its runner does not know of this one, so that the write that ends the first misses, and is made anew.
    await told(world, begin('behind', 'one'));
    await until(world, () => turnOf(world, 'first').state === 'done');
    await told(world, begin('beside', 'other'));
    await settled(world);
    assert.deepEqual([world.asked.length, world.answers], [3, { now: 0, most: 1 }], `seed ${seed}`);
  }
});
