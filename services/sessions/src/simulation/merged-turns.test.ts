import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@switchyard/testkit';
import { sendMessage, isRunning, settled, getPromptMessages, getTurn, twoReplicas, waitUntil } from './event-delivery.fixture.ts';
import type { Waits, World } from './scenario.fixture.ts';

/*
 * Merged turns whose runner dies after each write in turn.
 */

const writes: Record<string, (write: Write) => boolean> = {
  'they were heard': ({ change }) => change.set?.['merged'] !== undefined,
  'the answer was written': ({ change }) => change.set?.['seq'] !== undefined,
  'one of them has ended': ({ change }) => change.set?.['mergedInto'] !== undefined,
  'one of them has left the queue': ({ change, filter }) =>
    change.inc?.['removedCount'] !== undefined && filter['leaseUntil'] === undefined,
  'all is counted': ({ change }) => change.set?.['lastSeq'] !== undefined,
};

/** Turns b, c and d arrive while a runs. The process dies right after the first matching write while they wait. */
async function dyingAfter(isIt: (write: Write) => boolean, waits: Waits): Promise<World> {
  let armed = false;
  let dead = false;
  const { world, first, second } = await twoReplicas(
    (write) => {
      if (armed && !dead && isIt(write)) {
        dead = true;
        queueMicrotask(() => (first.process.alive ? first.process.kill() : second.process.kill()));
      }
      return write.filter;
    },
    1,
    waits,
  );
  second.process.pause(20_000);
  await getPromptMessages(world, sendMessage(first, 'a', { pieces: 3, pace: 1_000, tools: ['look'] }));
  await waitUntil(world, isRunning(world, 'a'));
  for (const name of ['b', 'c', 'd']) await getPromptMessages(world, sendMessage(first, name, { pieces: 2, pace: 500 }));
  if (waits.mode === 'collect') await waitUntil(world, () => getTurn(world, 'a').state === 'done');
  armed = true;
  await settled(world);
  assert.ok(dead);
  return world;
}

/** Number of messages counted by the session, and of its turns. */
function countedIn({ sessions }: World): unknown {
  const [session] = sessions.documents.values();
  return [session?.messageCount, session?.lastSeq];
}

function assertAnsweredBy(world: World, lead: string, names: readonly string[]): void {
  const { turnId, state, answer: options } = getTurn(world, lead);
  assert.equal(state, 'done');
  for (const name of names) {
    const { state: one, mergedInto, answer } = getTurn(world, name);
    assert.deepEqual([one, mergedInto, answer], ['done', turnId, options]);
  }
}

for (const [when, isIt] of Object.entries(writes)) {
  test(`collect: after a crash when ${when}, each turn ends once with the same answer`, async () => {
    const world = await dyingAfter(isIt, { mode: 'collect', policy: 'drop-new' });
    assertAnsweredBy(world, 'b', ['c', 'd']);
    assert.deepEqual(countedIn(world), [6, 2]);
  });

  test(`steer: after a crash when ${when}, each turn ends once with the same answer`, async () => {
    const world = await dyingAfter(isIt, { mode: 'steer', policy: 'drop-new' });
    assertAnsweredBy(world, 'a', ['b', 'c', 'd']);
    assert.deepEqual(countedIn(world), [5, 1]);
    assert.deepEqual(world.judge.acted, ['turn_a 0'], 'what was done before is not done again');
  });
}
