import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Settings } from '@switchyard/service-kit';
import { readEntry, toEntry, waitsForOf } from '../model/queue-entry.ts';
import { lanesOf } from './lanes.ts';

type Queue = Settings<'queue'>['current']['queue'];

const lane = (name: string, priority: number, agingPromotionMs = 30_000) => ({ name, concurrency: 1, priority, agingPromotionMs });

function queueWith(
  priorityLanes: Queue['priorityLanes'],
  laneAssignment: Partial<Queue['laneAssignment']> = {},
  priorityEnabled = true,
): Queue {
  const assigned = { defaultLane: 'normal', dmLane: 'high', mentionLane: 'normal', followupLane: 'normal', scheduledLane: 'low' };
  return { priorityEnabled, priorityLanes, laneAssignment: { ...assigned, ...laneAssignment } } as Queue;
}

const USUAL = [lane('high', 2), lane('normal', 1, 60_000), lane('low', 0, 0)];
const alice = { tenant: 'default', userId: 'alice', channelId: 'telegram' };

test('assigns lanes by session; webhooks and agents get the default lane', () => {
  const lanes = lanesOf(queueWith(USUAL, { defaultLane: 'low' }));
  assert.ok(lanes);
  assert.deepEqual(
    [
      lanes.of(alice, {}),
      lanes.of({ ...alice, guildId: 'them' }, {}),
      lanes.of({ ...alice, channelId: 'webhook' }, {}),
      lanes.of(alice, { agent: 'helper' }),
    ],
    ['high', 'normal', 'low', 'low'],
  );
});

test('an unknown lane falls back to the default lane, otherwise to the lowest', () => {
  const known = lanesOf(queueWith(USUAL, { dmLane: 'none' }));
  assert.equal(known?.of(alice, {}), 'normal');
  const lowest = lanesOf(queueWith(USUAL, { dmLane: 'none', defaultLane: 'neither' }));
  assert.equal(lowest?.of(alice, {}), 'low');
  assert.deepEqual(lowest?.get('gone'), lowest?.get('low'));
});

test('each promotion step takes its time; a barrier also stops promotion from below', () => {
  const lanes = lanesOf(queueWith([lane('lowest', -1, 5_000), ...USUAL]));
  assert.deepEqual(
    ['high', 'normal', 'low', 'lowest'].map((name) => {
      const { behind, climbMs } = lanes?.get(name) ?? {};
      return [behind, climbMs];
    }),
    [
      [0, 0],
      [0, 60_000],
      [1, 0],
      [1, 5_000],
    ],
  );
});

test('promotion times of several steps add up', () => {
  const lanes = lanesOf(queueWith([lane('high', 2), lane('normal', 1, 60_000), lane('low', 0, 5_000)]));
  assert.equal(lanes?.get('low').climbMs, 65_000);
});

test('returns undefined when disabled, and computes lanes once per configuration', () => {
  assert.equal(lanesOf(queueWith(USUAL, {}, false)), undefined);
  assert.equal(lanesOf(queueWith([])), undefined);
  const queue = queueWith(USUAL);
  assert.equal(lanesOf(queue), lanesOf(queue));
});

test('formats an entry with any lane name to the same text each time', () => {
  const turn = { turnId: 'turn_1', agentId: 'one', createdAt: 5 };
  for (const name of ['high', 'a b', '50%', 'ü/ö', '\ud800']) {
    const text = toEntry({ ...turn, lane: name });
    assert.equal(text.split(' ').length, 5);
    assert.deepEqual(readEntry(text), { turnId: 'turn_1', agentId: 'one', at: 5, from: 5, lane: name.toWellFormed() });
    assert.equal(text, toEntry({ ...turn, lane: name }));
  }
  assert.equal(toEntry(turn), 'turn_1 5 one');
  assert.deepEqual(readEntry(toEntry({ ...turn, gathersUntil: 9, lane: 'high' })).from, 9);
  assert.notEqual(waitsForOf('t', { agentId: 'a', lane: 'b' }), waitsForOf('t', { agentId: 'a' }));
});
