import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FAULTS, type Watching } from '@switchyard/testkit';
import { guards, without } from './guards.fixture.ts';
import { principal, type Replica, type World } from './scenario.fixture.ts';
import { ask, isRunning, settled, told, turnOf, twoReplicas, until } from './event-delivery.fixture.ts';

/** Cancels a turn by id on a replica. */
async function cancel(world: World, replica: Replica, name: string): Promise<void> {
  const { turnId } = turnOf(world, name);
  const end = await told(world, replica.runner.cancel({ turnId }, principal));
  assert.deepEqual(end.status === 'fulfilled' && end.value.turns, [{ turnId, state: 'cancelled' }]);
}

test('cancels a turn whose runner is paused; later writes of the runner have no effect', async () => {
  const { world, first, second } = await twoReplicas();
  await told(world, ask(first, 'a', { tools: ['act'], pieces: 3, pace: 400 }));
  await until(world, isRunning(world, 'a'));
  first.process.pause(60_000);
  await cancel(world, second, 'a');
  const { finishedAt } = turnOf(world, 'a');
  await told(world, ask(second, 'b'));
  await until(world, () => turnOf(world, 'b').state === 'done');
  await until(world, () => world.simulation.now() > (finishedAt ?? 0) + 120_000);
  await settled(world);
  assert.deepEqual([turnOf(world, 'a').state, turnOf(world, 'a').finishedAt], ['cancelled', finishedAt]);
  assert.deepEqual(world.judge.acted, []);
  assert.equal([...world.sessions.documents.values()][0]?.messageCount, 2);
});

test('a runner that receives no message detects the cancellation within seconds', async () => {
  const { world, first, second } = await twoReplicas();
  world.simulation.faults = { ...NO_FAULTS, drops: 1 };
  await told(world, ask(first, 'a', { pieces: 2, pace: 100_000 }));
  await until(world, isRunning(world, 'a'));
  await cancel(world, second, 'a');
  const cancelledAt = world.simulation.now();
  await settled(world);
  assert.ok(world.simulation.now() - cancelledAt < 5_000, `${world.simulation.now() - cancelledAt} ms`);
});

test('other replicas publish a cancellation whose replica died after writing it', async () => {
  const { world, first, second } = await twoReplicas();
  for (const name of ['a', 'b']) await told(world, ask(first, name, { pieces: 2, pace: 3_000 }));
  await until(world, isRunning(world, 'a'));
  for (const name of ['b', 'a']) {
    const { turnId } = turnOf(world, name);
    void second.runner.cancel({ turnId }, principal).catch(() => undefined);
  }
  await until(world, () => turnOf(world, 'a').state === 'cancelled' && turnOf(world, 'b').state === 'cancelled');
  second.process.kill();
  await settled(world);
});

test('of a concurrent cancellation and answer one applies, and both callers are told the same', async () => {
  const ends = new Set<string>();
  for (let seed = 1; seed <= 60; seed += 1) {
    const { world, first, second } = await twoReplicas(undefined, seed);
    world.simulation.faults = { ...NO_FAULTS, passes: 0.5 };
    await told(world, ask(first, 'a', { pieces: 1, pace: 0 }));
    const { turnId } = turnOf(world, 'a');
    const end = await told(world, second.runner.cancel({ turnId }, principal));
    await settled(world);
    const { state, seq } = turnOf(world, 'a');
    assert.equal(end.status === 'fulfilled' && end.value.turns[0]?.state, state);
    assert.equal(seq, state === 'done' ? 1 : undefined);
    ends.add(state);
  }
  assert.deepEqual(ends, new Set(['done', 'cancelled']));
});

/** A turn is removed from the queue at the moment another one arrives. */
async function crossing(seed: number, sabotage?: Watching['sabotage']): Promise<void> {
  const { world, first, second } = await twoReplicas(sabotage, seed);
  world.simulation.faults = { ...NO_FAULTS, passes: 0.2 };
  const busy = { agentId: 'narrow', pieces: 3, pace: 1_000 };
  await told(world, ask(first, 'x', { ...busy, session: 'default:alice:two' }));
  await told(world, ask(second, 'y', { ...busy, session: 'default:alice:three' }));
  await told(world, ask(first, 'a', { agentId: 'narrow' }));
  const { turnId } = turnOf(world, 'a');
  await told(world, Promise.all([second.runner.cancel({ turnId }, principal), ask(first, 'b', { agentId: 'narrow' })]));
  await settled(world);
  assert.deepEqual([turnOf(world, 'a').state, turnOf(world, 'b').state], ['cancelled', 'done']);
}

test('a turn that arrives while the previous one is removed is not forgotten; without the guard it is', async () => {
  const guard = guards.find(({ write, without: fields }) => write === 'withdraw' && fields.includes('depth')) ?? assert.fail();
  let forgotten = 0;
  for (let seed = 1; seed <= 60; seed += 1) {
    await crossing(seed);
    if (forgotten === 0) await crossing(seed, without(guard)).catch(() => (forgotten += 1));
  }
  assert.ok(forgotten > 0, 'no story shows what the guard is for');
});
