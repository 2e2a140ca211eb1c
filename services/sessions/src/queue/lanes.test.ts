import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Settings } from '@switchyard/service-kit';
import { parseEntry, parseWaitsFor, formatEntry, formatWaitsFor } from '../model/queue-entry.ts';
import { getLanes } from './lanes.ts';

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
  const lanes = getLanes(queueWith(USUAL, { defaultLane: 'low' }));
  assert.ok(lanes);
  assert.deepEqual(
    [
      lanes.laneFor(alice, {}),
      lanes.laneFor({ ...alice, guildId: 'them' }, {}),
      lanes.laneFor({ ...alice, channelId: 'webhook' }, {}),
      lanes.laneFor(alice, { agent: 'helper' }),
    ],
    ['high', 'normal', 'low', 'low'],
  );
  assert.deepEqual([lanes.autoContinue, lanes.scheduled], ['normal', 'low']);
});

test('an unknown lane falls back to the default lane, otherwise to the lowest', () => {
  const known = getLanes(queueWith(USUAL, { dmLane: 'none' }));
  assert.equal(known?.laneFor(alice, {}), 'normal');
  const lowest = getLanes(queueWith(USUAL, { dmLane: 'none', defaultLane: 'neither' }));
  assert.equal(lowest?.laneFor(alice, {}), 'low');
  assert.deepEqual(lowest?.get('gone'), lowest?.get('low'));
});

test('each promotion step takes its time; a barrier also stops promotion from below', () => {
  const lanes = getLanes(queueWith([lane('lowest', -1, 5_000), ...USUAL]));
  assert.deepEqual(
    ['high', 'normal', 'low', 'lowest'].map((name) => {
      const { barriers, promotionMs } = lanes?.get(name) ?? {};
      return [barriers, promotionMs];
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
  const lanes = getLanes(queueWith([lane('high', 2), lane('normal', 1, 60_000), lane('low', 0, 5_000)]));
  assert.equal(lanes?.get('low').promotionMs, 65_000);
});

test('returns undefined when disabled, and computes lanes once per configuration', () => {
  assert.equal(getLanes(queueWith(USUAL, {}, false)), undefined);
  assert.equal(getLanes(queueWith([])), undefined);
  const queue = queueWith(USUAL);
  assert.equal(getLanes(queue), getLanes(queue));
});

test('formats an entry with any lane name to the same text each time', () => {
  const turn = { turnId: 'turn_1', agentId: 'one', client: 'a b', createdAt: 5 };
  for (const name of ['high', 'a b', '50%', 'ü/ö', '\ud800']) {
    const text = formatEntry({ ...turn, lane: name });
    assert.equal(text.split(' ').length, 6);
    const expected = { turnId: 'turn_1', agentId: 'one', client: 'a b', acceptedAt: 5, notBefore: 5, lane: name.toWellFormed() };
    assert.deepEqual(parseEntry(text), expected);
    assert.equal(text, formatEntry({ ...turn, lane: name }));
  }
  assert.equal(formatEntry(turn), 'turn_1 5 one 5  a%20b');
  assert.deepEqual(parseEntry(formatEntry({ ...turn, debounceUntil: 9, lane: 'high' })).notBefore, 9);
});

test('parses entries of versions that did not name the client', () => {
  const turn = { turnId: 'turn_1', agentId: 'one', client: '', acceptedAt: 5, notBefore: 5 };
  assert.deepEqual(parseEntry('turn_1 5 one'), turn);
  assert.deepEqual(parseEntry('turn_1 5 one 5 high'), { ...turn, lane: 'high' });
});

test('wait keys differ by tenant, agent, client and lane, and are parsed to the same parts', () => {
  const keys = ['a', 'a b'].flatMap((name) => [
    { tenant: name, agentId: 'a', client: 'c' },
    { tenant: 't', agentId: name, client: 'c' },
    { tenant: 't', agentId: 'z', client: name },
    { tenant: 't', agentId: 'z', client: 'c', lane: name },
  ]);
  const texts = keys.map((key) => formatWaitsFor(key.tenant, key));
  assert.equal(new Set(texts).size, keys.length);
  assert.deepEqual(texts.map(parseWaitsFor), keys);
});
