import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@switchyard/testkit';
import { ask, isRunning, settled, told, turnOf, twoReplicas, until } from './telling.fixture.ts';
import type { Waits } from './story.fixture.ts';

/*
 * One answer to several turns, whose runner dies after each of the writes in turn.
 */

const writes: Record<string, (write: Write) => boolean> = {
  'they were heard': ({ change }) => change.set?.['joined'] !== undefined,
  'the answer was written': ({ change }) => change.set?.['seq'] !== undefined,
  'one of them has ended': ({ change }) => change.set?.['answeredBy'] !== undefined,
  'one of them has left the queue': ({ change, filter }) => change.inc?.['withdrawn'] !== undefined && filter['leaseUntil'] === undefined,
  'all is counted': ({ change }) => change.set?.['lastSeq'] !== undefined,
};

/** Turns b, c and d come while a runs; the process that runs them dies right after the last write of its kind. */
async function dyingAfter(isIt: (write: Write) => boolean, waits: Waits): Promise<ReturnType<typeof turnOf>[]> {
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
  await told(world, ask(first, 'a', { pieces: 3, pace: 1_000 }));
  await until(world, isRunning(world, 'a'));
  for (const name of ['b', 'c', 'd']) await told(world, ask(first, name, { pieces: 2, pace: 500 }));
  await until(world, () => turnOf(world, 'a').state === 'done');
  armed = true;
  await settled(world);
  assert.ok(dead);
  const [session] = world.sessions.documents.values();
  assert.deepEqual([session?.messageCount, session?.lastSeq], [6, 2]);
  return ['b', 'c', 'd'].map((name) => turnOf(world, name));
}

for (const [when, isIt] of Object.entries(writes)) {
  test(`collect: the process dies when ${when}; each turn ends once, with the one answer`, async () => {
    const [b, ...rest] = await dyingAfter(isIt, { mode: 'collect', policy: 'drop-new' });
    assert.deepEqual([b?.state, b?.seq], ['done', 2]);
    for (const { state, answeredBy, answer } of rest) assert.deepEqual([state, answeredBy, answer], ['done', b?.turnId, b?.answer]);
  });
}
