import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RollingRestart } from '@switchyard/contracts';
import type { LiveProcess } from './live-processes.ts';
import { groupByProcess } from './live-processes.ts';
import { nextStep, planRestart } from './rolling-restart.ts';

const LONGEST_MS = 100;
const SETTLE_MS = 10;

function one(process: string, replicas: string[], ready = true): LiveProcess {
  return { process, replicas, services: replicas.map((name) => name.slice(0, name.indexOf('.'))), ready };
}

const two = ['sessions', 'gateway'].flatMap((service) => [1, 2].map((at) => one(`${service}-${at}`, [`${service}.${service}-${at}`])));

/** Runs steps on one state of the processes until the plan waits. */
function play(restart: RollingRestart, live: readonly LiveProcess[], now = 0): RollingRestart {
  for (;;) {
    const next = nextStep(restart, { live, now, stepTimeoutMs: LONGEST_MS, settleMs: SETTLE_MS });
    if (next === undefined) return restart;
    restart = next;
  }
}

const plan = (live: readonly LiveProcess[]): RollingRestart => planRestart(live, { id: 'r', by: 'ops', now: 0 });

/** Replaces a process with a new one under the same name. */
function renewed(live: readonly LiveProcess[], process: string): LiveProcess[] {
  return live.map((each) => (each.process === process ? { ...each, process: `${process}+` } : each));
}

test('restarts each process once, after the previous one is ready, and gateways last', () => {
  let live = [...two];
  let restart = play(plan(live), live);
  const remainingItems: string[] = [];
  for (let now = 1; restart.state === 'running'; now += SETTLE_MS) {
    const { process } = restart.turn ?? assert.fail('no process was asked to stop');
    remainingItems.push(process);
    assert.deepEqual(play(restart, live, now), restart, 'waits while it runs');
    const without = live.filter((each) => each.process !== process);
    assert.deepEqual(play(restart, without, now), restart, 'waits while it is stopped');
    const starting = renewed(live, process).map((each) => (each.process === `${process}+` ? { ...each, ready: false } : each));
    assert.deepEqual(play(restart, starting, now), restart, 'waits until it is ready');
    live = renewed(live, process);
    restart = play(play(restart, live, now), live, now + SETTLE_MS);
  }
  assert.deepEqual(remainingItems, ['sessions-1', 'sessions-2', 'gateway-1', 'gateway-2']);
  assert.equal(restart.state, 'done');
  assert.deepEqual(
    restart.restarted,
    two.flatMap(({ replicas }) => replicas),
  );
});

test('waits settleMs after a restarted gateway', () => {
  const live = two.filter(({ services }) => services.includes('gateway'));
  const restart = play(plan(live), live);
  const back = renewed(live, 'gateway-1');
  assert.equal(play(restart, back, 5).turn?.process, 'gateway-1');
  assert.equal(play(play(restart, back, 5), back, 5 + SETTLE_MS - 1).turn?.process, 'gateway-1');
  assert.equal(play(play(restart, back, 5), back, 5 + SETTLE_MS).turn?.process, 'gateway-2');
});

test('restarts processes that are not ready first', () => {
  const live = [one('a', ['sessions.a']), one('b', ['sessions.b'], false)];
  assert.equal(play(plan(live), live).turn?.process, 'b');
});

test('waits for a missing second replica rather than stop the last one', () => {
  const died = two.filter(({ process }) => process !== 'sessions-2');
  const restart = play(plan(two), died);
  assert.equal(restart.turn, undefined, 'sessions-1 is the only replica of sessions');
  assert.equal(play(restart, renewed(two, 'sessions-2')).turn?.process, 'sessions-1');
  assert.match(play(restart, died, LONGEST_MS).reason ?? '', /sessions has fewer ready replicas than before$/);
});

test('skips a process that has already exited', () => {
  const restart = { ...plan(two), ready: {} };
  const live = [one('sessions-1+', ['sessions.sessions-1']), ...two.slice(1)];
  assert.equal(play(restart, live).turn?.process, 'sessions-2');
});

test('treats a process that is killed while stopping as stopped', () => {
  const restart = play(plan(two), two);
  assert.equal(play(restart, renewed(two, 'sessions-1'), 1).turn?.process, 'sessions-2');
});

test('stops the restart if a process does not stop or does not come back', () => {
  const restart = play(plan(two), two);
  const stays = play(restart, two, LONGEST_MS);
  assert.deepEqual([stays.state, stays.reason], ['stopped', 'not within 0 s: sessions.sessions-1 did not stop']);
  const gone = play(restart, two.slice(1), LONGEST_MS);
  assert.match(gone.reason ?? '', /sessions\.sessions-1 stopped and has not become ready again$/);
  assert.deepEqual(
    gone.waiting.map(({ process }) => process),
    ['sessions-2', 'gateway-1', 'gateway-2'],
  );
  assert.equal(play(gone, two, LONGEST_MS + 1), gone, 'the plan does not change any more');
});

test('restarts all replicas of one process together', () => {
  const state = { revision: 1, refused: undefined, process: 'p', ready: true };
  const live = groupByProcess([
    { ...state, replica: 'sessions.x' },
    { ...state, replica: 'gateway.x' },
    { ...state, replica: 'memory.old', process: undefined },
  ]);
  assert.deepEqual(live, [{ process: 'p', replicas: ['gateway.x', 'sessions.x'], services: ['gateway', 'sessions'], ready: true }]);
  assert.deepEqual(play(plan(live), live).turn?.needs, { gateway: 1, sessions: 1 });
});
