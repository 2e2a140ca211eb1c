import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RollingRestart } from '@switchyard/contracts';
import type { LiveProcess } from './live-processes.ts';
import { liveProcesses } from './live-processes.ts';
import { nextStep, planRestart } from './rolling-restart.ts';

const LONGEST_MS = 100;
const SETTLE_MS = 10;

function one(process: string, replicas: string[], ready = true): LiveProcess {
  return { process, replicas, services: replicas.map((name) => name.slice(0, name.indexOf('.'))), ready };
}

const two = ['sessions', 'gateway'].flatMap((service) => [1, 2].map((at) => one(`${service}-${at}`, [`${service}.${service}-${at}`])));

/** What is seen at a time, and the steps that follow from it until something has to happen. */
function play(restart: RollingRestart, live: readonly LiveProcess[], now = 0): RollingRestart {
  for (;;) {
    const next = nextStep(restart, { live, now, longestMs: LONGEST_MS, settleMs: SETTLE_MS });
    if (next === undefined) return restart;
    restart = next;
  }
}

const plan = (live: readonly LiveProcess[]): RollingRestart => planRestart(live, { id: 'r', by: 'ops', now: 0 });

/** Leaves, and is there again under the same name, as another process. */
function renewed(live: readonly LiveProcess[], process: string): LiveProcess[] {
  return live.map((each) => (each.process === process ? { ...each, process: `${process}+` } : each));
}

test('each leaves once, when the one before is ready again, and the edge is last', () => {
  let live = [...two];
  let restart = play(plan(live), live);
  const left: string[] = [];
  for (let now = 1; restart.state === 'running'; now += SETTLE_MS) {
    const { process } = restart.turn ?? assert.fail('nobody was told to leave');
    left.push(process);
    assert.deepEqual(play(restart, live, now), restart, 'nobody else while it runs');
    const without = live.filter((each) => each.process !== process);
    assert.deepEqual(play(restart, without, now), restart, 'nor while it is away');
    const starting = renewed(live, process).map((each) => (each.process === `${process}+` ? { ...each, ready: false } : each));
    assert.deepEqual(play(restart, starting, now), restart, 'nor before it can work');
    live = renewed(live, process);
    restart = play(play(restart, live, now), live, now + SETTLE_MS);
  }
  assert.deepEqual(left, ['sessions-1', 'sessions-2', 'gateway-1', 'gateway-2']);
  assert.equal(restart.state, 'done');
  assert.deepEqual(
    restart.restarted,
    two.flatMap(({ replicas }) => replicas),
  );
});

test('a gateway that is there again is given time to be seen before the next one leaves', () => {
  const live = two.filter(({ services }) => services.includes('gateway'));
  const restart = play(plan(live), live);
  const back = renewed(live, 'gateway-1');
  assert.equal(play(restart, back, 5).turn?.process, 'gateway-1');
  assert.equal(play(play(restart, back, 5), back, 5 + SETTLE_MS - 1).turn?.process, 'gateway-1');
  assert.equal(play(play(restart, back, 5), back, 5 + SETTLE_MS).turn?.process, 'gateway-2');
});

test('whoever cannot work goes first, so that those who can are there meanwhile', () => {
  const live = [one('a', ['sessions.a']), one('b', ['sessions.b'], false)];
  assert.equal(play(plan(live), live).turn?.process, 'b');
});

test('a second one that is missing is waited for: a service is not left without', () => {
  const died = two.filter(({ process }) => process !== 'sessions-2');
  const restart = play(plan(two), died);
  assert.equal(restart.turn, undefined, 'sessions-1 is all there is of sessions now');
  assert.equal(play(restart, renewed(two, 'sessions-2')).turn?.process, 'sessions-1');
  assert.match(play(restart, died, LONGEST_MS).reason ?? '', /sessions has not as many replicas that can work as it had before$/);
});

test('whoever died by itself needs no restart, and is not waited for', () => {
  const restart = { ...plan(two), ready: {} };
  const live = [one('sessions-1+', ['sessions.sessions-1']), ...two.slice(1)];
  assert.equal(play(restart, live).turn?.process, 'sessions-2');
});

test('who is killed while it leaves is one that left', () => {
  const restart = play(plan(two), two);
  assert.equal(play(restart, renewed(two, 'sessions-1'), 1).turn?.process, 'sessions-2');
});

test('who does not leave, or does not come back, ends it: the others stay as they are, and it is said', () => {
  const restart = play(plan(two), two);
  const stays = play(restart, two, LONGEST_MS);
  assert.deepEqual([stays.state, stays.reason], ['stopped', 'not within 0 s: sessions.sessions-1 did not leave']);
  const gone = play(restart, two.slice(1), LONGEST_MS);
  assert.match(gone.reason ?? '', /sessions\.sessions-1 left, and is not there again and ready$/);
  assert.deepEqual(
    gone.waiting.map(({ process }) => process),
    ['sessions-2', 'gateway-1', 'gateway-2'],
  );
  assert.equal(play(gone, two, LONGEST_MS + 1), gone, 'it is over');
});

test('what runs in one process leaves together', () => {
  const state = { revision: 1, refused: undefined, process: 'p', ready: true };
  const live = liveProcesses([
    { ...state, replica: 'sessions.x' },
    { ...state, replica: 'gateway.x' },
    { ...state, replica: 'memory.old', process: undefined },
  ]);
  assert.deepEqual(live, [{ process: 'p', replicas: ['gateway.x', 'sessions.x'], services: ['gateway', 'sessions'], ready: true }]);
  assert.deepEqual(play(plan(live), live).turn?.needs, { gateway: 1, sessions: 1 });
});
