// alone: measures the processor time and memory of idle jobs
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openStore } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import { newWork } from '@switchyard/work';
import { jobCollection, type JobDocument } from './documents/collections.ts';
import { testScheduler } from './scheduler.fixture.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const JOBS = 10_000;
const JOBS_PER_INSERT = 100;
const MEASURED_MS = 20_000;
const MAX_CORE_SHARE = 0.01;
const MAX_BYTES = 30 * 1_048_576;
const DAY_MS = 86_400_000;

function createIdleJob(n: number, createdAt: number): JobDocument {
  const everyMs = DAY_MS + n;
  return {
    ...newWork(),
    state: 'parked',
    dueAt: createdAt + everyMs,
    jobId: `job_${String(n).padStart(22, '0')}`,
    name: `job${n}`,
    agentId: 'default',
    message: 'What time is it?',
    schedule: { kind: 'interval', everyMs, anchorMs: createdAt },
    principal: { client: 'test', scopes: ['*'] },
    sessionStrategy: 'fresh',
    overlap: 'skip',
    jitterMs: 0,
    enabled: true,
    firedUntil: createdAt,
    revision: 0,
    createdAt,
    consecutiveErrors: 0,
    firesSinceSuccess: 0,
  };
}

async function measure(data: string): Promise<{ share: number; bytes: number }> {
  const settings = { scheduler: { heartbeat: { enabled: false } } };
  await using app = await testScheduler({ data, settings });
  assert.equal(app.turns.orders.size, 0);
  await sleep(2_000);
  const before = process.cpuUsage();
  await sleep(MEASURED_MS);
  const { user, system } = process.cpuUsage(before);
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return { share: (user + system) / 1_000 / MEASURED_MS, bytes: heapUsed + external };
}

test(`${JOBS} idle jobs use less than 1 % of a core and 30 MiB`, { timeout: 300_000 }, async (t) => {
  await using empty = await tempDir();
  const alone = await measure(empty.path);
  await using filled = await tempDir();
  {
    await using app = await testScheduler({ data: filled.path });
    await app.bus.call('cron.list', {});
  }
  const store = await openStore(`sqlite:${filled.path}`, { service: 'scheduler' });
  const { jobs } = await store.open({ jobs: jobCollection });
  const own = jobs.for({ tenant: 'default' });
  for (let n = 0; n < JOBS; n += JOBS_PER_INSERT)
    await Promise.all(Array.from({ length: JOBS_PER_INSERT }, (_, at) => own.insert(createIdleJob(n + at, Date.now()))));
  await store.close();
  const idle = await measure(filled.path);
  const [share, bytes] = [idle.share - alone.share, idle.bytes - alone.bytes];
  t.diagnostic(`${(share * 100).toFixed(2)} % of a core and ${(bytes / 1_048_576).toFixed(1)} MiB more than without jobs`);
  assert.ok(share < MAX_CORE_SHARE);
  assert.ok(bytes < MAX_BYTES);
});
