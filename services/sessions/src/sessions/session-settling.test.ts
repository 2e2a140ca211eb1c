import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { waitUntilAllSettled, waitUntilSettled } from './session-settling.ts';

const busy = { key: 's', queue: ['turn_1 1 default'], depth: 1 } as SessionDocument;
const idle = { key: 's', queue: [] as string[], depth: 0 } as SessionDocument;

/** A collection that is read by key, and a clock that advances by each wait. */
function world(state: TurnDocument['state'], later: () => SessionDocument | null) {
  let now = 0;
  let waits = 0;
  const only = (get: () => unknown): unknown => ({
    for: () => ({ get: () => Promise.resolve(get()), find: () => Promise.resolve({ items: [get()] }) }),
  });
  const after = (ms: number, work: () => void) => {
    now += ms;
    waits += 1;
    queueMicrotask(work);
    return () => undefined;
  };
  const clock: Clock = { now: () => now, after, soon: queueMicrotask, every: () => () => undefined };
  const turns = only(() => ({ turnId: 'turn_1', state })) as Collection<TurnDocument>;
  const sessions = only(later) as Collection<SessionDocument>;
  return { deps: { sessions, turns, clock }, waits: () => waits };
}

test('waits until a session has counted its finished head', async () => {
  for (const state of ['done', 'cancelled', 'failed'] as const) {
    const { deps, waits } = world(state, () => (waits() < 3 ? busy : idle));
    assert.equal(await waitUntilSettled(deps, 'default', busy), idle);
    assert.equal(waits(), 3);
  }
});

test('returns at once if the head runs or waits, or the queue is empty', async () => {
  for (const state of ['queued', 'running'] as const) {
    const { deps, waits } = world(state, () => idle);
    assert.equal(await waitUntilSettled(deps, 'default', busy), busy);
    assert.equal(waits(), 0);
  }
  assert.equal(await waitUntilSettled(world('done', () => busy).deps, 'default', idle), idle);
});

test('does not wait long for a runner that died between its two writes', async () => {
  const { deps, waits } = world('done', () => busy);
  assert.equal(await waitUntilSettled(deps, 'default', busy), busy);
  assert.equal(waits(), 200);
});

test('returns null for a session that was removed meanwhile', async () => {
  assert.equal(await waitUntilSettled(world('done', () => null).deps, 'default', busy), null);
});

test('waits until all sessions of a list have counted their finished turns', async () => {
  const { deps, waits } = world('done', () => idle);
  const query = async () => ({ items: waits() < 3 ? [idle, busy] : [idle, idle] });
  assert.deepEqual(await waitUntilAllSettled(deps, 'default', query), { items: [idle, idle] });
  assert.equal(waits(), 3);
  const running = world('running', () => idle);
  assert.deepEqual(await waitUntilAllSettled(running.deps, 'default', async () => ({ items: [busy] })), { items: [busy] });
  assert.equal(running.waits(), 0, 'nobody waits for a turn that runs');
});
