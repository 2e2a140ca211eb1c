import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import { PARENT, script, spawn, startRuns } from './subagents.fixture.ts';

/** The model `dev/tools` names the tools that are offered to it. */
const spawning = script({ tool: { name: 'sessions_spawn', input: { agentId: 'tools', task: 'which?' } } }, { text: 'started' });

/** Returns the tools that were offered to the only run. */
async function getOffered(app: TestService): Promise<string[]> {
  await app.nextEvent('session:sub_agent_lifecycle_ended');
  const { runs } = await app.bus.call('subagent.list', {});
  const { response = '' } = await app.bus.call('session.run_status', { run_id: runs[0]!.runId });
  return (/Tools offered here: (.*)\.$/.exec(response)?.[1]?.split(', ') ?? []).toSorted();
}

/** Runs a turn of the agent `scripted` whose tools are narrowed, and which starts a run of the agent `tools`. */
async function spawnFromOrder(app: TestService, tools: Input<'turns.order'>['tools']): Promise<string[]> {
  const scheduler = (await app.host.connect('scheduler')).as(principal());
  await scheduler.call('turns.order', {
    message: spawning,
    agentId: 'scripted',
    idempotencyKey: 'nightly@1',
    kind: 'cron',
    origin: { service: 'scheduler', ref: 'nightly' },
    session: { userId: 'cron:nightly', channelId: 'gateway' },
    tools,
  });
  return getOffered(app);
}

test('a run has the tools of subAgentToolGroups', async () => {
  await using app = await startRuns({ agentToAgent: { subAgentToolGroups: ['minimal'] } });
  await app.bus.call('session.spawn', { parentKey: PARENT, agentId: 'tools', task: 'which?' });
  assert.deepEqual(await getOffered(app), ['ask_user', 'memory_search', 'session_search']);
});

test('a run of a narrowed turn has no tool that the turn does not have', async () => {
  await using app = await startRuns();
  const offered = await spawnFromOrder(app, { profile: 'minimal', allow: ['sessions_spawn'], deny: ['memory_search'] });
  assert.deepEqual(offered, ['ask_user', 'session_search', 'sessions_spawn']);
});

test('a run of a turn from which tools are taken does not get them back', async () => {
  await using app = await startRuns();
  const offered = await spawnFromOrder(app, { deny: ['group:memory', 'dev_destroy'] });
  assert.ok(offered.includes('sessions_spawn'));
  assert.deepEqual(
    offered.filter((name) => name.startsWith('memory_') || name === 'dev_destroy'),
    [],
  );
});

test('a run has no tool beyond the scopes of the client that requested it', async () => {
  await using app = await startRuns();
  const restricted = app.bus.as(principal({ scopes: ['rpc'] }));
  await restricted.call('session.spawn', { parentKey: PARENT, agentId: 'tools', task: 'which?' });
  const offered = await getOffered(app);
  assert.ok(offered.includes('session_status'));
  assert.deepEqual(
    offered.filter((name) => ['subagents', 'subagent_kill', 'config_patch', 'memory_delete'].includes(name)),
    [],
  );
});

test('rejects a run of an agent outside allowAgents', async () => {
  await using app = await startRuns({ agentToAgent: { allowAgents: ['tools'] } });
  await assert.rejects(spawn(app, 'which?'), { code: 'INVALID_ARGUMENT', message: /allowAgents/ });
});
