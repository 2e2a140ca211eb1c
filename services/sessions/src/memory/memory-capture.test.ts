import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { memory, ServiceError, type Input } from '@switchyard/contracts';
import type { Handlers } from '@switchyard/bus';
import { principal, type TestService } from '@switchyard/testkit';
import { turnCollection, type TurnDocument } from '../model/turn-document.ts';
import { ended, testSessions, getTurnId } from '../sessions.fixture.ts';

type Captured = Input<'memory.capture'>['captured'][number];

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const MESSAGE = 'Remember that the code is blue.';
const AWAY = new ServiceError('UNAVAILABLE', 'away');
/** Covers the minimum age of a pending turn, which is one second, and several sweeps. */
const PATIENCE_MS = 10_000;

interface House extends AsyncDisposable {
  app: TestService;
  promptMessages: Captured[];
  /** Errors for the next captures. Later captures succeed. */
  refusals: ServiceError[];
}

async function start(agents: Record<string, object> = {}): Promise<House> {
  const [told, refusals]: [Captured[], ServiceError[]] = [[], []];
  const app = await testSessions({ as: admin, agents, settings: { queue: { defaultMode: 'collect' } }, timing: { sweepMs: 20 } });
  const handlers: Handlers<typeof memory> = {
    'memory.recall': () => ({ entries: [], empty: true, textCandidates: 0, vectorCandidates: 0 }),
    'memory.capture': ({ captured }) => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      told.push(...captured);
      return { stored: captured.length };
    },
    'memory.forgetSession': () => ({ forgotten: 0 }),
  };
  await (await app.host.connect('memory')).serve(memory, handlers, { version: '0.0.0' });
  return { app, promptMessages: told, refusals, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

/** Refuses captures until the refusals are removed, however many sweeps happen. */
function beAway({ refusals }: House): void {
  refusals.push(...Array.from({ length: 10_000 }, () => AWAY));
}

async function noted({ app }: House): Promise<TurnDocument[]> {
  const store = await app.host.store('sessions');
  const { turns } = await store.open({ turns: turnCollection });
  const { items } = await turns.for(principal()).find({ memoryPendingSince: { gt: 0 } });
  await store.close();
  return items;
}

async function waitUntil(leases: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !(await leases());) {
    assert.ok(Date.now() < end, 'condition was never met');
    await wait(20);
  }
}

test('a sweep sends the same captures after an outage of the memory service and clears the pending field', async () => {
  await using house = await start();
  beAway(house);
  await house.app.bus.call('agent.execute', { message: MESSAGE });
  assert.equal((await noted(house)).length, 1);
  house.refusals.length = 0;
  await waitUntil(async () => (await noted(house)).length === 0);
  assert.deepEqual(
    house.promptMessages.map(({ content, outside, sessionKey }) => [content, outside, sessionKey]),
    [[MESSAGE, false, KEY]],
  );
});

test('a turn without captures has no pending field', async () => {
  await using house = await start();
  house.refusals.push(AWAY);
  await house.app.bus.call('agent.execute', { message: 'hello' });
  assert.deepEqual(await noted(house), []);
  assert.equal(house.refusals.length, 1, 'and nobody is told');
});

test('does not resend captures that were rejected permanently', async () => {
  await using house = await start();
  const no = new ServiceError('INVALID_ARGUMENT', 'no');
  house.refusals.push(no, no);
  await house.app.bus.call('agent.execute', { message: MESSAGE });
  await waitUntil(async () => (await noted(house)).length === 0);
  assert.deepEqual([house.promptMessages, house.refusals.length], [[], 0]);
});

test('sends nothing of a conversation that was cleared with its memories', async () => {
  await using house = await start();
  beAway(house);
  await house.app.bus.call('agent.execute', { message: MESSAGE });
  await house.app.bus.call('session.reset_conversation', { session_key: KEY, memory: true });
  house.refusals.length = 0;
  assert.deepEqual([await noted(house), house.promptMessages], [[], []]);
});

test('captures merged messages directly after the turn or in a later sweep', async () => {
  for (const refusals of [[], [AWAY, AWAY]]) {
    await using house = await start({ scripted: { model: 'dev/scripted' } });
    house.refusals.push(...refusals);
    const { bus } = house.app;
    const sendRequest = (name: string, message: string) =>
      bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message });
    await sendRequest('before', '[{"wait":60000}]');
    for (const [name, message] of Object.entries({ first: '[{"text":"a"}]', heard: MESSAGE, last: '[{"text":"b"}]' }))
      await sendRequest(name, message);
    await bus.call('agent.cancel', { turnId: getTurnId('before') });
    await ended(bus, getTurnId('first'));
    await waitUntil(async () => house.promptMessages.length > 0 && (await noted(house)).length === 0);
    assert.deepEqual(
      house.promptMessages.map((one) => [one.turnId, one.content]),
      [[getTurnId('heard'), MESSAGE]],
    );
  }
});

test('marks captures of webhook messages as external, directly after the turn or in a later sweep', async () => {
  for (const refusals of [[], [AWAY, AWAY]]) {
    await using house = await start();
    house.refusals.push(...refusals);
    const session = { userId: 'hook:issues:7', channelId: 'webhook' };
    const webhook = house.app.bus.as(principal({ client: 'webhook/issues', scopes: ['rpc'], sessions: 'own' }));
    await webhook.call('turns.start', { turnId: getTurnId('hook'), message: MESSAGE, session });
    await waitUntil(async () => house.promptMessages.length > 0);
    assert.deepEqual(
      house.promptMessages.map(({ content, outside, sourceType }) => [content, outside, sourceType]),
      [[MESSAGE, true, 'web']],
    );
  }
});
