import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { NO_FAULTS } from '@switchyard/testkit';
import { pause } from '@switchyard/service-kit';
import { createWorld, principal, reset, startReplica, USUAL, type Replica } from './scenario.fixture.ts';
import { sendMessage, isRunning, KEY, settled, getPromptMessages, getTurn, twoReplicas, waitUntil } from './event-delivery.fixture.ts';

/*
 * Regression scenarios for faults found earlier, each scripted. Time is virtual: minutes take milliseconds.
 */

test('a turn of a killed runner ends although no message is delivered', async () => {
  const { world, first } = await twoReplicas();
  world.simulation.faults = { ...NO_FAULTS, drops: 1 };
  await getPromptMessages(world, sendMessage(first, 'a', { pieces: 5, pace: 1_000 }));
  await waitUntil(world, isRunning(world, 'a'));
  const killedAt = world.simulation.now();
  first.process.kill();
  await waitUntil(world, () => getTurn(world, 'a').attempts === 2);
  assert.ok(world.simulation.now() - killedAt <= 10_000, 'taken over within ten seconds');
  await settled(world);
  assert.equal(getTurn(world, 'a').state, 'done');
});

test('a draining runner hands its turn over at once', async () => {
  const { world, first } = await twoReplicas();
  await getPromptMessages(world, sendMessage(first, 'a', { pieces: 20, pace: 1_000 }));
  await waitUntil(world, isRunning(world, 'a'));
  const [leftAt, drained] = [world.simulation.now(), first.own.disposeAsync()];
  await waitUntil(world, () => getTurn(world, 'a').attempts === 2);
  // Two seconds are allowed for turns that may still end by themselves.
  assert.ok(world.simulation.now() - leftAt < 3_500);
  await getPromptMessages(world, drained);
  await settled(world);
});

test('the second turn of a session does not start while the runner of the first is paused', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { world, first, second } = await twoReplicas(undefined, seed);
    await getPromptMessages(world, sendMessage(first, 'a', { pieces: 20, pace: 700 }));
    await waitUntil(world, isRunning(world, 'a'));
    first.process.pause(7_000 + seed * 100);
    await getPromptMessages(world, sendMessage(second, 'b'));
    // The invariants reject two speakers, and a runner that acts after a takeover.
    await settled(world);
    assert.deepEqual([getTurn(world, 'a').seq, getTurn(world, 'b').seq], [1, 2]);
  }
});

test('a delayed reset does not remove newer turns', async () => {
  let lease: (() => boolean) | undefined;
  const world = createWorld({ seed: 1 });
  const [first, second] = [startReplica(world), startReplica(world)];
  await getPromptMessages(world, sendMessage(first, 'a'));
  await settled(world);
  // The reset stops between its read and its write.
  const resetting = reset(first, world, KEY);
  await waitUntil(world, () => world.gone.documents.size > 0);
  first.process.pause(60_000);
  lease = () => getTurn(world, 'b').state === 'done';
  await getPromptMessages(world, sendMessage(second, 'b'));
  await waitUntil(world, lease);
  const end = await getPromptMessages(world, resetting);
  assert.ok(end.status === 'rejected' && end.reason instanceof ServiceError && end.reason.code === 'ABORTED');
  await settled(world);
  assert.equal([...world.sessions.documents.values()][0]?.messageCount, 4);
});

test('output of a paused runner after a reset reaches no reader', async () => {
  const { world, first, second } = await twoReplicas();
  await getPromptMessages(world, sendMessage(first, 'a', { pieces: 3, pace: 1_000 }));
  await waitUntil(world, isRunning(world, 'a'));
  first.process.pause(60_000);
  await waitUntil(world, () => getTurn(world, 'a').state === 'done');
  await settled(world);
  await getPromptMessages(world, reset(second, world, KEY));
  const { epoch } = [...world.sessions.documents.values()][0]!;
  await waitUntil(world, () => world.simulation.now() > getTurn(world, 'a').createdAt + 120_000);
  await settled(world);
  const [session] = world.sessions.documents.values();
  assert.deepEqual([session?.epoch, session?.messageCount], [epoch, 0]);
});

test('a machine that slept continues its own turn', async () => {
  const world = createWorld({ seed: 1 });
  const replica = startReplica(world);
  world.judge.slept = true;
  await getPromptMessages(world, sendMessage(replica, 'a', { pieces: 7, pace: 1_000 }));
  const leaseUntil = (): number => [...world.sessions.documents.values()][0]?.leaseUntil ?? 0;
  const first = leaseUntil();
  // The lease is not renewed before the session is read.
  await waitUntil(world, () => leaseUntil() > first);
  world.simulation.skip(8 * 3_600_000);
  await settled(world);
  const { state, attempts } = getTurn(world, 'a');
  assert.deepEqual([state, attempts], ['done', 1]);
});

test('an error at the commit does not lose the answer', async () => {
  let failures = 3;
  const { world, first } = await twoReplicas(({ change, filter }) => {
    if (change.set?.['state'] === 'done' && failures-- > 0) throw new ServiceError('UNAVAILABLE', 'the database is away');
    return filter;
  });
  await getPromptMessages(world, sendMessage(first, 'a'));
  await settled(world);
  const { state, attempts } = getTurn(world, 'a');
  assert.deepEqual([state, attempts, failures], ['done', 0, -1], 'it was run once, and nothing was noted before its end');
});

test('a waiting caller survives failed database reads', async () => {
  const { world, first, second } = await twoReplicas();
  world.simulation.faults = { ...NO_FAULTS, drops: 1 };
  const { signal } = new AbortController();
  const request = {
    method: 'agent.execute' as const,
    turnId: `turn_${'a'.padEnd(22, 'x')}`,
    agentId: 'wide',
    session: KEY,
    idempotencyKey: 'k',
  };
  const message = JSON.stringify({ turn: 'turn_a', pieces: 4, tools: [], pace: 1_000 });
  await getPromptMessages(world, first.runner.start({ ...request, message }, principal));
  const waiting = second.runner.execute({ ...request, turnId: `turn_${'b'.padEnd(22, 'x')}`, message }, principal, { signal });
  void waiting.catch(() => undefined);
  await waitUntil(world, isRunning(world, 'a'));
  // No message is delivered, and for seconds no read succeeds.
  world.simulation.faults = { ...NO_FAULTS, drops: 1, failsBefore: 0.8 };
  const from = world.simulation.now();
  await waitUntil(world, () => world.simulation.now() > from + 3_000);
  world.simulation.faults = { ...NO_FAULTS, drops: 1 };
  const end = await getPromptMessages(world, waiting);
  assert.equal(end.status === 'fulfilled' && end.value.turn.turnId, getTurn(world, 'a').turnId);
  await settled(world);
});

test('a turn whose acceptor died before enqueueing it runs without a retry', async () => {
  const { world, first } = await twoReplicas();
  void sendMessage(first, 'a').catch(() => undefined);
  await waitUntil(world, () => world.turns.documents.size > 0);
  first.process.kill();
  assert.equal(world.sessions.documents.size, 0);
  await settled(world);
  assert.equal(getTurn(world, 'a').state, 'done');
});

test('an interrupted call is repeated only if it is idempotent; otherwise the model reads that its outcome is unknown', async () => {
  for (const tool of ['look', 'act'] as const) {
    const { world, first } = await twoReplicas();
    await getPromptMessages(world, sendMessage(first, 'a', { tools: [tool], pieces: 1, pace: 500 }));
    const acted = world.judge.acted;
    await waitUntil(world, () => acted.length === 1);
    first.process.kill();
    await settled(world);
    assert.equal(acted.length, tool === 'look' ? 2 : 1);
    const [, result] = getTurn(world, 'a').steps as { mark: string; result: unknown }[];
    assert.equal(JSON.stringify(result).includes('STEP_OUTCOME_UNKNOWN'), tool === 'act');
  }
});

test('a crash during compaction blocks other replicas for at most ten seconds', async () => {
  const { world, first, second } = await twoReplicas(undefined, 1, { ...USUAL, compacts: true });
  for (const name of ['a', 'b', 'c', 'd']) await getPromptMessages(world, sendMessage(first, name));
  await settled(world);
  const session = () => world.sessions.documents.get(`default ${KEY}`) ?? assert.fail('no session');
  const { signal } = new AbortController();
  const shorten = (replica: Replica) => replica.compaction.compact('default', session(), { signal });
  void shorten(first).catch(() => undefined);
  await waitUntil(world, () => session().compactUntil !== undefined);
  const killedAt = world.simulation.now();
  first.process.kill();
  const { roots = [] } = session();
  for (let createdCount = 0; createdCount === 0;) {
    const one = await getPromptMessages(world, shorten(second));
    createdCount = one.status === 'fulfilled' ? one.value.made : 0;
    await getPromptMessages(world, pause(second.process.clock, 100));
  }
  assert.ok((session().roots ?? []).length > roots.length);
  assert.ok(world.simulation.now() - killedAt <= 11_000, `after ${world.simulation.now() - killedAt} ms`);
});

test('a slow compaction keeps its lease', async () => {
  const { world, first, second } = await twoReplicas(undefined, 1, { ...USUAL, compacts: true, summaryPaceMs: 60_000 });
  for (const name of ['a', 'b', 'c', 'd']) await getPromptMessages(world, sendMessage(first, name));
  await settled(world);
  const session = () => world.sessions.documents.get(`default ${KEY}`) ?? assert.fail('no session');
  const { signal } = new AbortController();
  const making = first.compaction.compact('default', session(), { signal });
  void making.catch(() => undefined);
  const since = world.simulation.now();
  await waitUntil(world, () => world.simulation.now() > since + 50_000);
  assert.equal((session().roots ?? []).length, 0);
  const late = await getPromptMessages(world, second.compaction.compact('default', session(), { signal }));
  assert.equal(late.status === 'fulfilled' && late.value.made, 0);
  await waitUntil(world, () => (session().roots ?? []).length > 0);
  assert.ok((session().compactFence ?? 0) <= 2, 'nobody else had it meanwhile');
});
