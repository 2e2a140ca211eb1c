import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigurationPatch } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { sendMessage, settled, getPromptMessages, getTurn, twoReplicas, waitUntil } from '../simulation/event-delivery.fixture.ts';
import { ended, testSessions, getTurnId } from '../sessions.fixture.ts';

const agents = { scripted: { model: 'dev/scripted' } };
/** Longer than any test. */
const LONG_MS = 300_000;
const PATIENCE = { timeout: 30_000 };
const answer = (text: string): string => JSON.stringify([{ text }]);

function withQueue(queue: ConfigurationPatch['queue']) {
  return testSessions({ agents, settings: { queue } });
}

function start({ bus }: TestService, name: string, message = answer(`of ${name}`)) {
  return bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message });
}

async function answered({ bus }: TestService, name: string): Promise<string | undefined> {
  return (await ended(bus, getTurnId(name))).result?.response;
}

async function getState({ bus }: TestService, name: string): Promise<string> {
  return (await bus.call('turns.resume', { turnId: getTurnId(name) })).state;
}

test('answers the first message at once and merges the following ones at the end of the window', PATIENCE, async () => {
  const { world, first } = await twoReplicas(undefined, 1, { mode: 'followup', policy: 'drop-new', gathersMs: 2_000 });
  const now = (): number => world.simulation.now();
  let askedAt = now();
  await getPromptMessages(world, sendMessage(first, 'a'));
  await waitUntil(world, () => getTurn(world, 'a').state === 'done');
  assert.ok(now() - askedAt < 500);
  askedAt = now();
  for (const name of ['b', 'c']) await getPromptMessages(world, sendMessage(first, name));
  await settled(world);
  const { turnId, finishedAt = 0 } = getTurn(world, 'b');
  assert.equal(getTurn(world, 'c').mergedInto, turnId);
  assert.ok(finishedAt - askedAt >= 1_900 && finishedAt - askedAt < 3_500, `after ${finishedAt - askedAt} ms`);
});

test('ends the window early when maxBufferedMessages is reached', PATIENCE, async () => {
  await using app = await withQueue({ debounce: { windowMs: LONG_MS, maxBufferedMessages: 2 } });
  await start(app, 'a');
  assert.equal(await answered(app, 'a'), 'of a');
  await start(app, 'b');
  assert.equal(await getState(app, 'b'), 'queued');
  await start(app, 'c');
  assert.deepEqual([await answered(app, 'b'), await answered(app, 'c')], ['of c', 'of c']);
  await start(app, 'd');
  assert.equal(await getState(app, 'd'), 'queued', 'it came soon after, and waits for more');
});

test('merges at most maxBufferedMessages; the rest follows in later turns', PATIENCE, async () => {
  const { world, first } = await twoReplicas(undefined, 1, { mode: 'followup', policy: 'drop-new', gathersMs: 2_000 });
  await getPromptMessages(world, sendMessage(first, 'a', { pieces: 3, pace: 1_000 }));
  for (const name of ['b', 'c', 'd', 'e']) await getPromptMessages(world, sendMessage(first, name));
  await settled(world);
  const { turnId } = getTurn(world, 'b');
  assert.deepEqual(
    ['b', 'c', 'd', 'e'].map((name) => [getTurn(world, name).state, getTurn(world, name).mergedInto]),
    [
      ['done', undefined],
      ['done', turnId],
      ['done', turnId],
      ['done', undefined],
    ],
  );
});

test('delays the first message too if firstMessageImmediate is false', PATIENCE, async () => {
  await using app = await withQueue({ debounce: { windowMs: LONG_MS, maxBufferedMessages: 2, firstMessageImmediate: false } });
  await start(app, 'a');
  assert.equal(await getState(app, 'a'), 'queued');
  await start(app, 'b');
  assert.deepEqual([await answered(app, 'a'), await answered(app, 'b')], ['of b', 'of b']);
});

test('channel settings override the general window', PATIENCE, async () => {
  const own = { windowMs: 0 };
  const first = { firstMessageImmediate: false };
  for (const [queue, waits] of [
    [{ defaultDebounceMs: LONG_MS, debounce: first, perChannelDebounce: { gateway: own } }, false],
    [{ debounce: first, perChannel: { gateway: { debounceMs: LONG_MS } } }, true],
    [{ debounce: first, perChannel: { telegram: { debounceMs: LONG_MS } } }, false],
    [{ perChannelDebounce: { gateway: { windowMs: LONG_MS, ...first } } }, true],
  ] as const) {
    await using app = await withQueue(queue);
    await start(app, 'a');
    if (waits) assert.equal(await getState(app, 'a'), 'queued', JSON.stringify(queue));
    else assert.equal(await answered(app, 'a'), 'of a', JSON.stringify(queue));
  }
});

test('does not delay commands', PATIENCE, async () => {
  await using app = await withQueue({ defaultDebounceMs: LONG_MS });
  await start(app, 'a');
  assert.equal(await answered(app, 'a'), 'of a');
  await start(app, 'b', '/status');
  assert.ok(await answered(app, 'b'));
});

test('cancels a debounced turn like any waiting turn', PATIENCE, async () => {
  await using app = await withQueue({ defaultDebounceMs: LONG_MS, debounce: { firstMessageImmediate: false } });
  await start(app, 'a');
  await app.bus.call('agent.cancel', { turnId: getTurnId('a') });
  assert.equal(await getState(app, 'a'), 'cancelled');
});

test('another process answers the debounced messages of a dead process together', PATIENCE, async () => {
  const { world, first } = await twoReplicas(undefined, 1, { mode: 'followup', policy: 'drop-new', gathersMs: 2_000 });
  await getPromptMessages(world, sendMessage(first, 'a'));
  await waitUntil(world, () => getTurn(world, 'a').state === 'done');
  const askedAt = world.simulation.now();
  for (const name of ['b', 'c']) await getPromptMessages(world, sendMessage(first, name));
  first.process.kill();
  await settled(world);
  const [b, c] = ['b', 'c'].map((name) => getTurn(world, name));
  assert.deepEqual([b?.state, c?.state, c?.mergedInto], ['done', 'done', b?.turnId]);
  assert.ok((b?.finishedAt ?? 0) - askedAt >= 1_900, 'not before it is time');
});
