// alone: measures how soon the last of 1,000 jobs starts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import type { Params } from '@switchyard/contracts';
import { testScheduler } from './scheduler.fixture.ts';

const JOBS = 1_000;
const TENANTS = ['default', 'north', 'south', 'west'];
const AGENTS = Array.from({ length: 5 }, (_, n) => `agent${n}`);
const JOBS_PER_AGENT = JOBS / (TENANTS.length * AGENTS.length);
/** Time in which the jobs are added, before they are due. */
const ADD_MS = 45_000;
const MAX_START_MS = 30_000;

interface Start {
  room: string;
  at: number;
}

test(
  `${JOBS} jobs that are due in one second all start within 30 s, in fair shares of tenants and agents`,
  { timeout: 300_000 },
  async (t) => {
    const starts: Start[] = [];
    await using app = await testScheduler({
      agents: AGENTS.map((agentId) => ({ agentId, tenants: TENANTS })),
      endAtOnce: true,
      onOrder: ({ tenant, agentId = '' }) => void starts.push({ room: `${tenant} ${agentId}`, at: Date.now() }),
    });
    const dueAt = Date.now() + ADD_MS;
    for (let n = 0; n < JOBS_PER_AGENT; n += 1)
      for (const tenant of TENANTS) {
        const bus = app.bus.as(principal({ tenant }));
        const job: Params<'cron.add'> = { name: `job${n}`, message: 'What time is it?', schedule: { kind: 'once', at: dueAt } };
        await Promise.all(AGENTS.map((agentId) => bus.call('cron.add', { ...job, agentId })));
      }
    assert.ok(Date.now() < dueAt, `adding the jobs took ${Date.now() - dueAt} ms too long`);
    while (app.turns.orders.size < JOBS) {
      assert.ok(Date.now() < dueAt + MAX_START_MS, `${app.turns.orders.size} of ${JOBS} jobs have started`);
      await app.turns.next();
    }
    const lastStartMs = Math.max(...starts.map(({ at }) => at)) - dueAt;
    t.diagnostic(`the last of ${JOBS} jobs started after ${lastStartMs} ms`);
    assert.ok(starts.every(({ at }) => at >= dueAt));
    // When half of the jobs have started, no agent has had less than half of its share.
    const counts = new Map<string, number>();
    for (const { room } of starts.slice(0, JOBS / 2)) counts.set(room, (counts.get(room) ?? 0) + 1);
    const fewest = Math.min(...TENANTS.flatMap((tenant) => AGENTS.map((agentId) => counts.get(`${tenant} ${agentId}`) ?? 0)));
    t.diagnostic(`the agent with the fewest starts had ${fewest} of ${JOBS_PER_AGENT} when half of all jobs had started`);
    assert.ok(fewest >= JOBS_PER_AGENT / 4);
  },
);
