import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { testScheduler } from './scheduler.fixture.ts';

const PERIOD_MS = 1_000;

type Scheduler = Awaited<ReturnType<typeof testScheduler>>;

/** Resolves when the job has that many further runs, all of which have ended. */
async function waitForRuns(app: Scheduler, count: number): Promise<void> {
  for (let run = 0; run < count; run += 1) await app.nextEvent('scheduler:job_completed');
}

async function listEndedRuns(app: Scheduler): Promise<string[]> {
  const { runs } = await app.bus.call('cron.runs', { name: 'tick', limit: 100 });
  return runs.filter(({ status }) => status === 'ok').map(({ runAt }) => `@${runAt}`);
}

test(
  'a restored store fires nothing twice that its runs record, while the bus and the sessions are ahead of it',
  { timeout: 60_000 },
  async () => {
    await using data = await tempDir();
    await using copies = await tempDir();
    const [store, backup] = [join(data.path, 'store'), join(copies.path, 'backup')];
    await using app = await testScheduler({ data: data.path, endAtOnce: true });
    const job = { name: 'tick', message: 'What time is it?', overlap: 'allow' as const };
    const { id } = await app.bus.call('cron.add', { ...job, schedule: { kind: 'interval', everyMs: PERIOD_MS } });
    await waitForRuns(app, 2);
    const recorded = await listEndedRuns(app);
    await app.restart(() => cp(store, backup, { recursive: true }));
    await waitForRuns(app, 2);
    let orderedBefore = 0;
    await app.restart(async () => {
      orderedBefore = app.turns.keys.length;
      await rm(store, { recursive: true });
      await cp(backup, store, { recursive: true });
    });
    // Ends of runs before the restore may still be unread.
    while (app.turns.keys.length < orderedBefore + 2) await waitForRuns(app, 1);
    const restored = await listEndedRuns(app);
    assert.ok(recorded.length >= 2 && recorded.every((run) => restored.includes(run)), 'the backup has the first runs');
    const orderedAfter = app.turns.keys.slice(orderedBefore);
    assert.deepEqual(
      orderedAfter.filter((key) => recorded.includes(key.slice(id.length))),
      [],
      'a run of the backup was ordered again',
    );
    // A fire that the restored store does not record has the key of its instant again, so that the sessions service runs it once.
    const instants = [...app.turns.orders.keys()].map((key) => Number(key.slice(`${id}@`.length)));
    assert.deepEqual(instants, [...new Set(instants)]);
    for (const instant of instants) assert.equal((instant - instants[0]!) % PERIOD_MS, 0, `${instant} is no fire of the schedule`);
  },
);
