import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { call, sendRequest } from '../e2e/exchange.ts';
import { getProcess, isAlive, SKIP } from './processes.ts';

interface Run {
  runAt: number;
  startedAtMs?: number;
  status: string;
}

const AGENTS = ['default', 'north', 'south', 'west'];
const JOBS_PER_AGENT = Number(process.env['SWITCHYARD_TEST_JOBS'] ?? 60) / AGENTS.length;
const JOBS = AGENTS.length * JOBS_PER_AGENT;
/** Time in which the jobs are added, before all of them are due in the same second. */
const ADD_MS = 30_000 + JOBS * 60;
const KILL_INTERVAL_MS = 2_000;
const KILLS = Math.max(5, JOBS / 50);
const MAX_END_MS = 90_000 + JOBS * 200;
const POLL_MS = 500;

const getJobName = (n: number): string => `job${n}`;

interface Page {
  sessions: { sessionKey: string; messageCount: number }[];
  cursor?: string;
}

async function listSessions(product: Running): Promise<Page['sessions']> {
  const sessions: Page['sessions'] = [];
  let cursor: string | undefined;
  do {
    const page: Page = await call<Page>(product, 'session.list', cursor === undefined ? {} : { cursor });
    sessions.push(...page.sessions);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return sessions;
}

describe('jobs on replicas that are killed', { skip: SKIP, timeout: 240_000 + JOBS * 400 }, () => {
  let product: Running;
  before(async () => {
    const agent = { model: 'dev/echo', scheduler: { cron: { maxJobs: JOBS_PER_AGENT } } };
    const agents = Object.fromEntries(AGENTS.map((agentId) => [agentId, agent]));
    product = await startProduct('cluster', { config: { agents } });
  });
  after(() => product[Symbol.asyncDispose]());

  /** Returns undefined if the replica that was asked has been killed, which the caller learns as a retryable error. */
  async function readRuns(name: string, agentId: string): Promise<Run[] | undefined> {
    const { result, error } = await sendRequest(product, 'cron.runs', { name, agentId });
    assert.ok(error === undefined || error.data?.retryable === true, JSON.stringify(error));
    return (result as { runs: Run[] } | undefined)?.runs;
  }

  async function killReplicas(): Promise<void> {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { pid } = await getProcess(product, `scheduler-${(kill % 2) + 1}`);
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      await sleep(KILL_INTERVAL_MS);
    }
  }

  test(`${JOBS} jobs that are due in one second run exactly once while a replica is killed every two seconds`, async (t) => {
    const at = Date.now() + ADD_MS;
    const keys = AGENTS.flatMap((agentId) => Array.from({ length: JOBS_PER_AGENT }, (_, n) => ({ agentId, name: getJobName(n) })));
    for (const { agentId, name } of keys) {
      const schedule = { kind: 'once', at };
      await call(product, 'cron.add', { name, agentId, message: `Say ${name}.`, schedule });
    }
    assert.ok(Date.now() < at, 'adding the jobs took too long');
    await sleep(at - Date.now());
    await killReplicas();
    const runs: Run[] = [];
    for (const { agentId, name } of keys) {
      for (;;) {
        assert.ok(Date.now() < at + MAX_END_MS, `${name} of ${agentId} has not run`);
        const found = await readRuns(name, agentId);
        if (found && found.length > 0) {
          assert.deepEqual(
            found.map(({ status, runAt }) => [status, runAt]),
            [['ok', at]],
            `${name} of ${agentId}`,
          );
          runs.push(...found);
          break;
        }
        await sleep(POLL_MS);
      }
    }
    const lastStartMs = Math.max(...runs.map(({ startedAtMs = Infinity }) => startedAtMs)) - at;
    t.diagnostic(`the last of ${JOBS} jobs started after ${lastStartMs} ms with ${KILLS} kills`);
    // A turn that ran twice would have left further messages in the session of its run.
    const own = (await listSessions(product)).filter(({ sessionKey }) => sessionKey.includes('cron'));
    assert.equal(own.length, JOBS);
    assert.ok(
      own.every(({ messageCount }) => messageCount === 2),
      JSON.stringify(own),
    );
  });
});
