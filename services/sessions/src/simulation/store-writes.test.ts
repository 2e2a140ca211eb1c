import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@switchyard/testkit';
import { createWorld, isQuiet, principal, startReplica, type Replica, type World } from './scenario.fixture.ts';

/*
 * Writes of a turn between its arrival and its answer. Each is a single-document write with one disk sync, on every store.
 */

interface Watched {
  world: World;
  replica: Replica;
  /** Writes since the last call, in order. */
  writes: () => string[];
}

function watched(): Watched {
  const seen: Write[] = [];
  const world = createWorld({
    seed: 1,
    sabotage: (write) => {
      seen.push(write);
      return write.filter;
    },
  });
  return { world, replica: startReplica(world), writes: () => seen.splice(0).map(named) };
}

/** Names each write by its purpose. */
function named({ collection, filter, change }: Write): string {
  const { set = {}, push, pull, inc = {} } = change;
  if (filter['unique'] !== undefined) return `insert ${collection}`;
  if (push?.['queue'] !== undefined) return inc['fence'] === undefined ? 'enter' : 'enter and take the lease';
  if (pull !== undefined) return 'settle';
  if (set['finishedAt'] !== undefined) return 'commit';
  if (inc['attempts'] !== undefined) return 'take';
  return inc['fence'] === undefined ? `change ${collection}` : 'claim';
}

function sendMessage({ runner }: Replica, name: string, channel: string, { agentId = 'wide', pace = 0 } = {}): Promise<unknown> {
  const turnId = `turn_${name.padEnd(22, 'x')}`;
  const message = JSON.stringify({ turn: turnId, pieces: 2, tools: [], pace });
  return runner.start({ method: 'agent.execute', turnId, message, agentId, session: `default:alice:${channel}` }, principal);
}

async function over({ simulation }: World, work: Promise<unknown>[], leases: () => boolean): Promise<void> {
  let done = false;
  void Promise.all(work).then(() => (done = true));
  assert.ok(await simulation.run(() => done && leases(), 100_000), 'condition was never met');
}

test('a turn without tools takes four writes', async () => {
  const { world, replica, writes } = watched();
  await over(world, [sendMessage(replica, 'first', 'one')], () => isQuiet(world));
  // The first turn creates the session because there was none.
  assert.deepEqual(writes(), ['insert turns', 'enter and take the lease', 'insert sessions', 'commit', 'settle']);
  await over(world, [sendMessage(replica, 'second', 'one')], () => isQuiet(world));
  assert.deepEqual(writes(), ['insert turns', 'enter and take the lease', 'commit', 'settle']);
});

test('a turn that waits for its agent takes one more, the claim', async () => {
  const { world, replica, writes } = watched();
  const waits = (): boolean => [...world.sessions.documents.values()].some(({ waitsFor }) => waitsFor !== undefined);
  await over(
    world,
    [sendMessage(replica, 'one', 'a', { agentId: 'narrow', pace: 100 }), sendMessage(replica, 'two', 'b', { agentId: 'narrow' })],
    waits,
  );
  writes();
  await over(world, [], () => isQuiet(world));
  const matches = writes();
  const count = (name: string): number => matches.filter((one) => one === name).length;
  assert.deepEqual([count('commit'), count('settle'), count('take'), count('insert turns')], [2, 2, 0, 0]);
  // The last claim finds no waiting session.
  assert.ok(count('claim') <= 2, matches.join());
});
