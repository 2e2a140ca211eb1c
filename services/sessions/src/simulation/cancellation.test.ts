import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FAULTS, type Watching } from '@switchyard/testkit';
import { guards, without } from './guards.fixture.ts';
import { principal, type Replica, type World } from './scenario.fixture.ts';
import { sendMessage, isRunning, settled, getPromptMessages, getTurn, twoReplicas, waitUntil } from './event-delivery.fixture.ts';

/** Cancels a turn by id on a replica. */
async function cancel(world: World, replica: Replica, name: string): Promise<void> {
  const { turnId } = getTurn(world, name);
  const end = await getPromptMessages(world, replica.runner.cancel({ turnId }, principal));
  assert.deepEqual(end.status === 'fulfilled' && end.value.turns, [{ turnId, state: 'cancelled' }]);
}

test('cancels a turn whose runner is paused; later writes of the runner have no effect', async () => {
  const { world, first, second } = await twoReplicas();
  await getPromptMessages(world, sendMessage(first, 'a', { tools: ['act'], pieces: 3, pace: 400 }));
  await waitUntil(world, isRunning(world, 'a'));
  first.process.pause(60_000);
  await cancel(world, second, 'a');
  const { finishedAt } = getTurn(world, 'a');
  await getPromptMessages(world, sendMessage(second, 'b'));
  await waitUntil(world, () => getTurn(world, 'b').state === 'done');
  await waitUntil(world, () => world.simulation.now() > (finishedAt ?? 0) + 120_000);
  await settled(world);
  assert.deepEqual([getTurn(world, 'a').state, getTurn(world, 'a').finishedAt], ['cancelled', finishedAt]);
  assert.deepEqual(world.judge.acted, []);
  assert.equal([...world.sessions.documents.values()][0]?.messageCount, 2);
});

test('a runner that receives no message detects the cancellation within seconds', async () => {
  const { world, first, second } = await twoReplicas();
  world.simulation.faults = { ...NO_FAULTS, drops: 1 };
  await getPromptMessages(world, sendMessage(first, 'a', { pieces: 2, pace: 100_000 }));
  await waitUntil(world, isRunning(world, 'a'));
  await cancel(world, second, 'a');
  const cancelledAt = world.simulation.now();
  await settled(world);
  assert.ok(world.simulation.now() - cancelledAt < 5_000, `${world.simulation.now() - cancelledAt} ms`);
});

test('other replicas publish a cancellation whose replica died after writing it', async () => {
  const { world, first, second } = await twoReplicas();
  for (const name of ['a', 'b']) await getPromptMessages(world, sendMessage(first, name, { pieces: 2, pace: 3_000 }));
  await waitUntil(world, isRunning(world, 'a'));
  for (const name of ['b', 'a']) {
    const { turnId } = getTurn(world, name);
    void second.runner.cancel({ turnId }, principal).catch(() => undefined);
  }
  await waitUntil(world, () => getTurn(world, 'a').state === 'cancelled' && getTurn(world, 'b').state === 'cancelled');
  second.process.kill();
  await settled(world);
});

test('a concurrent cancellation and completion apply one outcome, and both callers receive it', async () => {
  const ends = new Set<string>();
  for (let seed = 1; seed <= 60; seed += 1) {
    const { world, first, second } = await twoReplicas(undefined, seed);
    world.simulation.faults = { ...NO_FAULTS, passes: 0.5 };
    await getPromptMessages(world, sendMessage(first, 'a', { pieces: 1, pace: 0 }));
    const { turnId } = getTurn(world, 'a');
    const end = await getPromptMessages(world, second.runner.cancel({ turnId }, principal));
    await settled(world);
    const { state, seq } = getTurn(world, 'a');
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
  await getPromptMessages(world, sendMessage(first, 'x', { ...busy, session: 'default:alice:two' }));
  await getPromptMessages(world, sendMessage(second, 'y', { ...busy, session: 'default:alice:three' }));
  await getPromptMessages(world, sendMessage(first, 'a', { agentId: 'narrow' }));
  const { turnId } = getTurn(world, 'a');
  await getPromptMessages(
    world,
    Promise.all([second.runner.cancel({ turnId }, principal), sendMessage(first, 'b', { agentId: 'narrow' })]),
  );
  await settled(world);
  assert.deepEqual([getTurn(world, 'a').state, getTurn(world, 'b').state], ['cancelled', 'done']);
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
