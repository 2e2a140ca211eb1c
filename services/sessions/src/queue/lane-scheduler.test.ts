import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorld, startReplica, type Replica, type World } from '../simulation/scenario.fixture.ts';
import { sendMessage, isRunning, settled, getPromptMessages, getTurn, waitUntil } from '../simulation/event-delivery.fixture.ts';
import { ended, testSessions, getTurnId } from '../sessions.fixture.ts';
import { OLDEST_FIRST_INTERVAL } from './lane-scheduler.ts';

const NEVER = 0;
const LONG = { pieces: 1, pace: 5_000 };

/** One replica, with turns of one agent that has room for one. Group messages have a lower priority than direct messages. */
function replicaWith(climbsMs: number | undefined): { world: World; replica: Replica } {
  const world = createWorld({ seed: 1, waits: { mode: 'followup', policy: 'drop-new', ...(climbsMs === undefined ? {} : { climbsMs }) } });
  return { world, replica: startReplica(world) };
}

async function run(world: World, replica: Replica, name: string, agentId = 'narrow'): Promise<void> {
  await getPromptMessages(world, sendMessage(replica, name, { ...LONG, agentId, session: `default:alice:${name}` }));
  await waitUntil(world, isRunning(world, name));
}

const direct = (name: string): string => `default:alice:${name}`;
const among = (name: string): string => `default:alice:${name}:guild:them`;

async function wait(world: World, replica: Replica, session: string, name: string): Promise<void> {
  await getPromptMessages(world, sendMessage(replica, name, { agentId: 'narrow', session, pace: 20 }));
}

function order(world: World, names: readonly string[]): string[] {
  return names.toSorted((one, other) => (getTurn(world, one).finishedAt ?? 0) - (getTurn(world, other).finishedAt ?? 0));
}

test('serves higher lanes first, in order of arrival within a lane; without lanes in order of arrival', async () => {
  for (const [climbsMs, expected] of [
    [60_000, ['d1', 'd2', 'a1', 'a2']],
    [undefined, ['a1', 'a2', 'd1', 'd2']],
  ] as const) {
    const { world, replica } = replicaWith(climbsMs);
    await run(world, replica, 'first');
    for (const name of ['a1', 'a2']) await wait(world, replica, among(name), name);
    for (const name of ['d1', 'd2']) await wait(world, replica, direct(name), name);
    await settled(world);
    assert.deepEqual(order(world, ['a1', 'a2', 'd1', 'd2']), expected);
  }
});

test('a turn that has waited for the promotion time precedes later turns of a higher lane', async () => {
  const { world, replica } = replicaWith(1_000);
  await run(world, replica, 'first');
  await wait(world, replica, among('a'), 'a');
  const askedAt = world.simulation.now();
  await wait(world, replica, direct('soon'), 'soon');
  await waitUntil(world, () => world.simulation.now() > askedAt + 1_500);
  for (const name of ['late', 'later', 'last']) await wait(world, replica, direct(name), name);
  await settled(world);
  const names = order(world, ['a', 'soon', 'late', 'later', 'last']);
  // That the first of the late ones came so late is known once it is claimed.
  assert.deepEqual([names[0], names[2]], ['soon', 'a']);
});

test('lanes without promotion get every eighth turn', async () => {
  const { world, replica } = replicaWith(NEVER);
  await run(world, replica, 'first');
  await wait(world, replica, among('a'), 'a');
  const names = Array.from({ length: 2 * OLDEST_FIRST_INTERVAL }, (_, at) => `d${at}`);
  for (const name of names) await wait(world, replica, direct(name), name);
  await settled(world);
  assert.equal(order(world, ['a', ...names]).indexOf('a'), OLDEST_FIRST_INTERVAL - 1);
});

test('a full lane blocks no other lane, not even arriving turns', async () => {
  const { world, replica } = replicaWith(60_000);
  await run(world, replica, 'first', 'wide');
  await getPromptMessages(world, sendMessage(replica, 'second', { session: direct('second') }));
  await getPromptMessages(world, sendMessage(replica, 'other', { session: among('other') }));
  await waitUntil(world, () => getTurn(world, 'other').state === 'done');
  assert.deepEqual([getTurn(world, 'first').state, getTurn(world, 'second').state], ['running', 'queued']);
  const { fence, createdAt } = getTurn(world, 'other');
  assert.equal(fence, createdAt, 'it was begun with its acceptance, and not claimed');
  await settled(world);
});

test('applies the configured lanes', async () => {
  const lane = (name: string, priority: number) => ({ name, priority, concurrency: 1 });
  const priorityLanes = [lane('quick', 1), lane('slow', 0)];
  const laneAssignment = { dmLane: 'quick', mentionLane: 'slow' };
  for (const priorityEnabled of [true, false]) {
    await using app = await testSessions({
      agents: { scripted: { model: 'dev/scripted' } },
      settings: { queue: { priorityEnabled, priorityLanes, laneAssignment } },
    });
    const start = (name: string, wait: number, guildId?: string) => {
      const message = JSON.stringify([{ wait }, { text: name }]);
      const session = { channelId: name, ...(guildId === undefined ? {} : { guildId }) };
      return app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message, session });
    };
    await start('long', 60_000);
    await start('direct', 0);
    await start('among', 0, 'them');
    assert.equal((await ended(app.bus, getTurnId('among'))).result?.response, 'among');
    if (priorityEnabled) assert.equal((await app.bus.call('turns.resume', { turnId: getTurnId('direct') })).state, 'queued');
    else assert.equal((await ended(app.bus, getTurnId('direct'))).result?.response, 'direct');
    await app.bus.call('agent.cancel', { turnId: getTurnId('long') });
    assert.equal((await ended(app.bus, getTurnId('direct'))).result?.response, 'direct');
  }
});

test('another process continues the lanes of a dead process', async () => {
  const { world, replica } = replicaWith(1_000);
  await run(world, replica, 'first');
  await wait(world, replica, among('a'), 'a');
  const askedAt = world.simulation.now();
  await waitUntil(world, () => world.simulation.now() > askedAt + 1_500);
  await wait(world, replica, direct('d'), 'd');
  replica.process.kill();
  startReplica(world);
  await settled(world);
  assert.deepEqual(order(world, ['a', 'd']), ['a', 'd']);
  assert.equal(getTurn(world, 'a').lane, 'among them');
});
