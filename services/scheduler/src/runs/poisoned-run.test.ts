import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCollection } from '../documents/collections.ts';
import { testScheduler } from '../scheduler.fixture.ts';

const POLL_MS = 10;
/** Failed attempts after which a run gives up. */
const FAILURES = 20;

for (const stored of [true, false])
  test(`a run that failed too often cancels its turn before it ends, ${stored ? 'with' : 'without'} its stored id`, async () => {
    await using app = await testScheduler();
    await app.bus.call('cron.add', { name: 'tick', message: 'What time is it?', schedule: { kind: 'interval', everyMs: 3_600_000 } });
    await app.bus.call('cron.run', { name: 'tick' });
    const { idempotencyKey: runId, turnId } = await app.turns.next();

    const store = await app.host.store('scheduler');
    const { runs } = await store.open({ runs: runCollection });
    const change = { set: { attempts: FAILURES, dueAt: 1 }, ...(stored ? {} : { unset: ['turnId', 'turnPending'] as const }) };
    const fail = () => runs.for({ tenant: 'default' }).update({ runId, state: 'parked' }, change);
    while (!(await fail())) await sleep(POLL_MS);

    if (stored) {
      const { success, error } = await app.nextEvent('scheduler:job_completed');
      assert.deepEqual([success, error], [false, 'the run failed too often; see the log']);
    } else {
      const getError = async () => (await runs.for({ tenant: 'default' }).get(runId))?.error;
      while ((await getError()) === undefined) await sleep(POLL_MS);
      assert.equal(await getError(), 'the run failed too often; see the log');
    }
    assert.deepEqual(app.turns.cancelled, new Set([turnId]));
    await store.close();
  });
