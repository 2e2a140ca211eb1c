import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { dice, tempDir, type Dice } from '@switchyard/testkit';
import { putAgent, removeAgent } from './sessions.fixture.ts';
import {
  AGENTS,
  asClient,
  beginLife,
  checkData,
  checkEnds,
  checkFrames,
  newLedger,
  newTurnId,
  readData,
  type Life,
} from './soak.fixture.ts';

/** Longer than any step here, shorter than the sweep that would hide a forgotten turn. */
const PATIENCE_MS = 40_000;
const UNSWEPT = { sweepMs: 60_000, pollMs: 60_000 };
const SWEPT = { sweepMs: 50, pollMs: 50, orphanMs: 1_000, leaseMs: 900, renewMs: 300, giveUpMs: 750 };
const LIVES = 7;
const STEPS = 60;
const CHANNELS = ['one', 'two:with:colons'];
const CLIENTS = ['alice', 'bob', 'carol'];
/** Errors that hostile requests may get. Any other error is a defect. */
const EXPECTED = new Set([
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'NOT_FOUND',
  'ABORTED',
  'INVALID_ARGUMENT',
  'UNAVAILABLE',
  'CANCELLED',
]);

type Ledger = ReturnType<typeof newLedger>;

interface World {
  roll: Dice;
  ledger: Ledger;
  life: Life;
  /** True when the run is over; later replies do not count for the next run. */
  over: () => boolean;
}

/** One step of one client. */
async function act(world: World): Promise<void> {
  const { roll } = world;
  const bus = asClient(world.life.app.bus, roll.of(CLIENTS));
  const kind = roll.below(20);
  if (kind < 9) return start(world, bus);
  if (kind < 12) return retry(world, bus);
  if (kind < 14)
    return void (await bus.call('agent.execute', { message: 'hello', sessionKey: { userId: 'all', channelId: roll.of(CHANNELS) } }));
  if (kind < 15) return void (await bus.call('session.send', { key: `default:all:${roll.of(CHANNELS)}`, message: 'hello' }));
  if (kind < 18) return empty(world, bus);
  const { bus: house } = world.life.app.host;
  if (kind < 19) return putAgent(house, 'doomed', { suspended: roll.chance(0.3), config: AGENTS.doomed });
  return removeAgent(house, 'doomed');
}

/** A scripted turn: it answers soon or late, fails, or calls a tool first. */
function script(roll: Dice): string {
  const wait = { wait: roll.of([0, 1, 5, 20]) };
  const end = roll.of([
    { text: 'an answer' },
    { text: 'an answer' },
    { error: { status: 400, message: 'no' } },
    { error: { code: 'ECONNRESET' } },
  ]);
  return JSON.stringify(roll.chance(0.3) ? [wait, { tool: { name: 'session_status', input: {} } }, end] : [wait, end]);
}

async function start({ roll, ledger, over }: World, bus: Bus): Promise<void> {
  const turnId = newTurnId();
  const agentId = roll.of(['scripted', 'scripted', 'flaky', 'doomed', undefined]);
  const channelId = roll.of(CHANNELS);
  const lane = `${agentId ?? ''}:${channelId}`;
  const asked = [...(ledger.before.get(lane) ?? [])];
  const session = { userId: 'all', channelId };
  await bus.call('turns.start', { turnId, message: script(roll), session, ...(agentId === undefined ? {} : { agentId }) });
  if (over()) return;
  ledger.accepted.add(turnId);
  ledger.before.set(turnId, asked);
  ledger.before.set(lane, [...(ledger.before.get(lane) ?? []), turnId]);
}

/** Sends the same request several times concurrently, with the same turn id or another. */
async function retry({ roll, ledger, over }: World, bus: Bus): Promise<void> {
  const idempotencyKey = `key-${roll.below(1_000_000)}`;
  const session = { userId: 'all', channelId: roll.of(CHANNELS) };
  const turnId = newTurnId();
  const same = roll.chance(0.5);
  const message = script(roll);
  const answers = await Promise.allSettled(
    Array.from({ length: 3 }, () =>
      bus.call('turns.start', { turnId: same ? turnId : newTurnId(), agentId: 'scripted', message, session, idempotencyKey }),
    ),
  );
  const notifications = new Set(answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.turnId] : [])));
  assert.ok(notifications.size <= 1, `one key named ${notifications.size} turns`);
  for (const accepted of notifications) if (!over()) ledger.accepted.add(accepted);
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
}

async function empty({ roll }: World, bus: Bus): Promise<void> {
  const prefix = roll.of(['', 'agent:scripted:', 'agent:doomed:', 'agent:flaky:']);
  const session_key = `${prefix}default:all:${roll.of(CHANNELS)}`;
  await bus.call(roll.of(['session.reset', 'session.delete'] as const), { session_key });
}

/** Runs many clients concurrently, each sequentially. */
async function play(world: World, steps: number): Promise<void> {
  let remaining = steps;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (remaining-- > 0 && !world.over()) {
        await act(world).catch((error: unknown) => {
          if (world.over()) return;
          if (!(error instanceof ServiceError) || !EXPECTED.has(error.code)) throw error;
        });
      }
    }),
  );
}

const RETRYABLE: readonly string[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED'];

/** Waits until every accepted turn has ended; the next sweep is a minute away. */
async function quiet({ life, ledger, over }: World, since: number): Promise<void> {
  for (const turnId of ledger.accepted) {
    for (;;) {
      const states = await Promise.all(
        CLIENTS.map((client) =>
          asClient(life.app.bus, client)
            .call('turns.resume', { turnId })
            // On a busy machine a call may fail; whether the turn has ended is not known then.
            .catch(({ code }: { code: string }) => (RETRYABLE.includes(code) ? { state: 'running' as const } : undefined)),
        ),
      );
      const state = states.find((found) => found)?.state;
      if (over() || (state !== 'queued' && state !== 'running')) break;
      assert.ok(performance.now() - since < PATIENCE_MS, `${turnId} is still ${state}`);
      await sleep(10);
    }
  }
}

/** Waits until a sweep has settled turns of a killed process. */
async function settled(data: string): Promise<void> {
  const since = performance.now();
  for (;;) {
    const busy = (await readData(data)).sessions.find(({ depth, leaseUntil }) => depth > 0 || leaseUntil > 0);
    if (busy === undefined) return;
    assert.ok(performance.now() - since < PATIENCE_MS, `${busy.key} is still held by ${busy.owner}`);
    await sleep(50);
  }
}

/** Checks that all slots are free: as many turns as slots start at once. */
async function checkSlots({ app }: Life): Promise<void> {
  const wait = JSON.stringify([{ wait: 50 }, { text: 'done' }]);
  const bus = asClient(app.bus, 'alice');
  const call = (at: number, agentId: string, message: string) =>
    bus.call('agent.execute', { agentId, message, sessionKey: { userId: 'slots', channelId: `s${at}` } }, { timeoutMs: PATIENCE_MS });
  await Promise.all([call(0, 'scripted', wait), call(1, 'scripted', wait), call(2, 'default', 'hello')]);
}

async function round(options: { roll: Dice; ledger: Ledger; data: string; next: string; at: number }): Promise<string> {
  const { roll, ledger, data, next, at } = options;
  const replicas = at === 0 ? 1 : 2;
  const ends = (['quiet', 'stop', 'crash'] as const)[at % 3];
  // Turns left by the previous run need sweeps; runs without leftovers must not need them.
  const timing = at === 0 ? UNSWEPT : SWEPT;
  let over = false;
  let heard: Life['receivedMessages'];
  {
    await using life = await beginLife({ data, replicas, timing });
    ({ receivedMessages: heard } = life);
    const world = { roll, ledger, life, over: () => over };
    const playing = play(world, STEPS);
    if (ends === 'quiet') {
      await playing;
      await quiet(world, performance.now());
      await checkSlots(life);
    } else {
      await sleep(100 + roll.below(300));
      over = true;
      if (ends === 'crash') life.crash(next);
      void playing.catch(() => undefined);
    }
    checkFrames(life);
  }
  if (ends === 'quiet') checkEnds(heard, await readData(data));
  return ends === 'crash' ? next : data;
}

test('every accepted turn ends once, in order, with consistent documents, under random clients, agents and crashes', async (t) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
  t.diagnostic(`SEED=${seed}`);
  await using dir = await tempDir();
  const ledger = newLedger();
  const roll = dice(seed);
  try {
    let data = join(dir.path, 'life-0');
    for (let at = 0; at < LIVES; at += 1) data = await round({ roll, ledger, data, next: join(dir.path, `life-${at + 1}`), at });
    {
      await using last = await beginLife({ data, replicas: 2, timing: SWEPT });
      await quiet({ roll, ledger, life: last, over: () => false }, performance.now());
      await checkSlots(last);
      await settled(data);
      checkFrames(last);
    }
    checkData(await readData(data), ledger);
  } catch (error) {
    throw new Error(`with SEED=${seed}`, { cause: error });
  }
});
