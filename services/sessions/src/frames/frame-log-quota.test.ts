import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TURNS_LOG } from '@switchyard/contracts';
import { systemClock } from '@switchyard/service-kit';
import { createFrameLogQuota } from './frame-log-quota.ts';

const ROOM = 1_000_000;
const OVERHEAD = 200;
const RESPONSE = 800;
/** Bytes that one frame takes from the quota. */
const FRAME = RESPONSE + OVERHEAD;

function shares(room = (): number => ROOM) {
  let now = 12_345_678;
  const { admit } = createFrameLogQuota({ clock: { ...systemClock, now: () => now }, room, messageBytes: OVERHEAD });
  return {
    keeps: admit,
    later: (ms: number): void => void (now += ms),
    /** Publishes more than the whole quota and returns the stored bytes. */
    flood(tenant: string): number {
      let keptCount = 0;
      for (let content = 0; content < ROOM; content += FRAME) if (admit(tenant, RESPONSE)) keptCount += FRAME;
      return keptCount;
    },
  };
}

test('one tenant fills at most half of the log, however long it publishes', () => {
  const it = shares();
  let kept = it.flood('loud');
  assert.equal(kept, ROOM / 2);
  for (let minute = 0; minute < 9; minute++) {
    it.later(TURNS_LOG.maxAgeMs / 10);
    kept += it.flood('loud');
  }
  assert.equal(kept, ROOM / 2);
});

test('a light tenant keeps all frames beside a heavy one, whichever comes first', () => {
  const it = shares();
  for (let n = 0; n < 50; n++) assert.ok(it.keeps('early', RESPONSE));
  it.flood('loud');
  it.later(1_000);
  for (let n = 0; n < 50; n++) assert.ok(it.keeps('early', RESPONSE) && it.keeps('late', RESPONSE));
  assert.equal(it.flood('loud'), 0);
});

test('several heavy tenants are cut at a common level, which sinks with their number', () => {
  const it = shares();
  const keptItems = Array.from({ length: 100 }, (_, n) => n).map((n) => {
    return it.flood(`loud${n}`);
  });
  // Each new tenant lowers the level for the earlier ones: to about a half, a quarter and a sixth.
  for (const [n, part] of [1 / 2, 1 / 4, 1 / 6].entries())
    assert.ok(Math.abs((keptItems[n] ?? 0) - part * ROOM) <= ROOM / 64, `${n}: ${keptItems[n]}`);
  assert.ok(keptItems.every((one, n) => n === 0 || one <= (keptItems[n - 1] ?? 0)));
  assert.ok(it.keeps('quiet', RESPONSE), 'and whoever says little is kept beside all of them');
});

test('expired slots free quota, and not before', () => {
  const it = shares();
  it.flood('loud');
  it.later(TURNS_LOG.maxAgeMs - 1);
  assert.equal(it.flood('loud'), 0);
  it.later(TURNS_LOG.maxAgeMs / 10 + 1_000);
  assert.equal(it.flood('loud'), ROOM / 2);
});

test('replicas that join and leave share the log', () => {
  let replicas = 1;
  const it = shares(() => ROOM / replicas);
  replicas = 4;
  it.later(1_000);
  assert.equal(it.flood('loud'), ROOM / 8);
  replicas = 1;
  it.later(1_000);
  assert.equal(it.flood('loud'), ROOM / 2 - ROOM / 8);
});

test('a frame larger than the log is published and not counted', () => {
  const it = shares();
  assert.equal(it.keeps('loud', ROOM), false);
  assert.equal(it.flood('loud'), ROOM / 2);
});
