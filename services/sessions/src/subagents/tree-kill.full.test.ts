import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startUpstream, type TestService } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const PARENT = 'agent:modelled:default:test:parent';
const CHILDREN = 5;
const DEPTH = 3;
/** Runs of a full tree below one top: 1 + 5 + 25. */
const RUNS = 31;
/** After this time no model call of a killed tree begins. */
const GRACE_MS = 1_000;
/** Time for which the provider is watched after that. */
const WATCH_MS = 4_000;
const POLL_MS = 50;
const TIMEOUT_MS = 120_000;

/** Spawns a run and its children down to the depth. A session exists once the turn of its run was accepted. */
async function grow(app: TestService, parentKey: string, depth: number): Promise<string[]> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      const { runId, sessionKey } = await app.bus.call('session.spawn', { parentKey, task: `depth ${depth}` });
      if (depth === DEPTH) return [runId];
      const below = await Promise.all(Array.from({ length: CHILDREN }, () => grow(app, sessionKey, depth + 1)));
      return [runId, ...below.flat()];
    } catch (error) {
      if ((error as { code?: string }).code !== 'NOT_FOUND' || Date.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

test('a full tree of sub-agents that is killed at the top begins no model call one second later', { timeout: 2 * TIMEOUT_MS }, async () => {
  await using upstream = await startUpstream();
  // Every call asks for a tool, so that a run that survived would call the model again and again.
  const call = { name: 'session_status', arguments: {} };
  upstream.respond({ kind: 'text', text: 'hello' }, { kind: 'tools', calls: [call] });
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const agent = {
    provider: 'local',
    model: 'm',
    maxSteps: 1_000,
    contextGuard: { enabled: false },
    concurrency: { maxConcurrentRuns: RUNS + 1 },
  };
  await using app = await testSessions({
    agents: { modelled: agent },
    settings: {
      providers: { entries },
      daemon: { shutdownTimeoutMs: 100 },
      security: { agentToAgent: { subAgentToolGroups: ['full'], subAgentMaxSteps: 1_000 } },
    },
    timing: { pollMs: 20, runs: { turnPollMs: 50, queuePollMs: 20, batchMs: 100 } },
  });
  await app.bus.call('session.send', { key: PARENT, message: 'hello' });
  const [top, ...others] = await grow(app, PARENT, 1);
  assert.equal(others.length + 1, RUNS);
  const callsBefore = upstream.requests.length;
  assert.ok(callsBefore > 1, 'the tree calls the model');
  await app.bus.call('subagent.kill', { target: top! });
  await sleep(GRACE_MS);
  const calls = upstream.requests.length;
  await sleep(WATCH_MS);
  assert.equal(upstream.requests.length, calls, 'no model call begins after the grace time');
  for (const runId of [top!, ...others]) {
    const { status, error } = await app.bus.call('session.run_status', { run_id: runId });
    assert.deepEqual([status, error], ['failed', 'Killed by parent agent'], runId);
  }
});
