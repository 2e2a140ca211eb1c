import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

interface Runs {
  runs: { runAt: number; status: string; summary?: string }[];
}

/** A run starts within a second of its time; a busy machine takes longer. */
const TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 100;

onEachProfile('cron', (product) => {
  test('a job fires once and cron.runs has the answer of its turn', async () => {
    const at = Date.now() + 1_000;
    const job = { name: 'noon', message: 'Say that it is noon.', schedule: { kind: 'once', at } };
    const added = await call<{ nextRunAtMs: number }>(product, 'cron.add', job);
    assert.equal(added.nextRunAtMs, at);
    const deadline = Date.now() + TIMEOUT_MS;
    let { runs } = await call<Runs>(product, 'cron.runs', { name: 'noon' });
    while (runs.length === 0) {
      assert.ok(Date.now() < deadline, 'the job has no run');
      await wait(POLL_INTERVAL_MS);
      ({ runs } = await call<Runs>(product, 'cron.runs', { name: 'noon' }));
    }
    assert.deepEqual(
      runs.map(({ runAt, status, summary }) => [runAt, status, summary?.includes('noon')]),
      [[at, 'ok', true]],
    );
  });
});
