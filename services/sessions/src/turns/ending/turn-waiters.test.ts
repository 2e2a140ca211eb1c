import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bus, Message } from '@switchyard/bus';
import { systemClock } from '@switchyard/service-kit';
import { createTurnWaiters, type TurnWaitersDeps } from './turn-waiters.ts';

const RESULT = { response: 'hi', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' as const };
const DONE: Message = {
  subject: 'turn',
  data: Buffer.from(JSON.stringify({ n: 3, type: 'done', result: RESULT })),
  reply: undefined,
  status: undefined,
  header: () => undefined,
};

/** A turn waiter with a manual clock and a bus that exposes its subscribers. */
function setUp() {
  const ticks: (() => void)[] = [];
  const listeners = new Set<(message: Message) => void>();
  const subscribe: Bus['subscribe'] = (_subject, onMessage) => {
    listeners.add(onMessage);
    return { unsubscribe: () => void listeners.delete(onMessage), drain: async () => undefined };
  };
  const nothing = { for: () => ({ find: async () => ({ items: [] }) }) };
  const clock = { ...systemClock, every: (_ms: number, work: () => void) => (ticks.push(work), () => undefined) };
  const waiting = createTurnWaiters({ bus: { subscribe }, clock, turns: nothing, bodies: nothing } as unknown as TurnWaitersDeps);
  const { signal } = new AbortController();
  return { waiting, signal, listeners, tick: () => ticks.forEach((work) => work()) };
}

test('subscribes at once for a turn that runs elsewhere', async () => {
  const { waiting, signal, listeners } = setUp();
  const end = waiting.end('default', 'turn_1', { signal });
  assert.equal(listeners.size, 1);
  for (const listener of listeners) listener(DONE);
  assert.deepEqual(await end, { result: RESULT });
  assert.equal(listeners.size, 0);
});

test('relies on the local runner for a turn that runs here, and subscribes after a while in case it was taken over', async () => {
  const { waiting, signal, listeners, tick } = setUp();
  const first = waiting.end('default', 'turn_1', { signal, runsHere: true });
  assert.equal(listeners.size, 0);
  waiting.notify('default', 'turn_1', { result: RESULT });
  assert.deepEqual(await first, { result: RESULT });

  const second = waiting.end('default', 'turn_2', { signal, runsHere: true });
  tick();
  tick();
  assert.equal(listeners.size, 1);
  for (const listener of listeners) listener(DONE);
  assert.deepEqual(await second, { result: RESULT });
  assert.equal(listeners.size, 0);
});

test('subscribes for a second waiter that does not rely on the local runner', async () => {
  const { waiting, signal, listeners } = setUp();
  const ends = [waiting.end('default', 'turn_1', { signal, runsHere: true }), waiting.end('default', 'turn_1', { signal })];
  assert.equal(listeners.size, 1);
  waiting.notify('default', 'turn_1', { result: RESULT });
  assert.deepEqual(await Promise.all(ends), [{ result: RESULT }, { result: RESULT }]);
  assert.equal(listeners.size, 0);
});
