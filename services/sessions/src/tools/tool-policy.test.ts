import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, TOOL_PROFILES, type ToolProfileName } from '@switchyard/contracts';
import { listDeclaredTools, listOwnTools } from './tool-catalog.ts';
import { allows } from './tool-policy.ts';

const tools = new Map([...listDeclaredTools(), ...listOwnTools('ctx.')].map((tool) => [tool.name, tool]));

function policy(toolPolicy: object): (name: string) => boolean {
  const { skills } = AgentConfig.parse({ skills: { toolPolicy } });
  return (name) => allows(skills.toolPolicy, tools.get(name) ?? assert.fail(`${name} is not declared`));
}

test('profile full allows everything except tools denied by name, method or group', () => {
  const may = policy({ deny: ['memory_inspect', 'session.history', 'group:browser'] });
  for (const name of ['memory_search', 'session_status', 'read', 'cron_add']) assert.ok(may(name), name);
  for (const name of ['memory_inspect', 'session_history', 'browser_act', 'browser_open']) assert.ok(!may(name), name);
});

test('a profile allows its own tools and the allow list; deny wins over both', () => {
  const minimal = policy({ profile: 'minimal' });
  assert.deepEqual(['session_search', 'memory_search', 'read', 'session_status'].map(minimal), [true, true, false, false]);
  const coding = policy({ profile: 'coding', allow: ['group:scheduling', 'session.status'], deny: ['workspace.git.log', 'memory_search'] });
  for (const name of ['read', 'write', 'ls', 'workspace_git_status', 'link_process', 'cron_list', 'session_status'])
    assert.ok(coding(name), name);
  for (const name of ['workspace_git_log', 'memory_search', 'session_history', 'browser_act']) assert.ok(!coding(name), name);
  const messaging = policy({ profile: 'messaging' });
  assert.deepEqual(['notification_send', 'session_search', 'session_history'].map(messaging), [true, true, false]);
  const supervisor = policy({ profile: 'supervisor' });
  assert.deepEqual(['graph_execute', 'cron_add', 'session_run_status', 'read'].map(supervisor), [true, true, true, false]);
});

test('the profiles of cron jobs and heartbeats allow few tools', () => {
  const select = (profile: ToolProfileName) =>
    [...tools.values()].filter((tool) => allows({ profile, allow: [], deny: [] }, tool)).map(({ name }) => name);
  assert.deepEqual(select('cron-minimal').toSorted(), ['link_process', 'memory_search', 'session_search']);
  assert.deepEqual(select('heartbeat-minimal').toSorted(), ['memory_search', 'read']);
});

test('group:context includes the session search, and group:sessions includes runs and graphs', () => {
  const context = policy({ profile: 'minimal', allow: ['group:context'], deny: ['memory_search'] });
  assert.deepEqual(['session_search', 'ctx_search', 'context_tree', 'session_history'].map(context), [true, true, true, false]);
  const sessions = policy({ deny: ['group:sessions'] });
  assert.deepEqual(['session_history', 'session_run_status', 'graph_define', 'memory_search'].map(sessions), [false, false, false, true]);
});

test('unknown groups and partial names match nothing', () => {
  const may = policy({ profile: 'minimal', allow: ['group:everything', 'group:constructor', 'session', 'session.', 'group:'] });
  assert.ok(!may('session_status'));
});

test('every name and group of a profile is declared, or belongs to a tool of the specification that comes later', () => {
  const later = ['ask_user', 'message', 'group:exec', 'group:spawn', 'group:message', '*'];
  const groups = new Set([...tools.values()].map(({ group }) => `group:${group}`));
  for (const entry of Object.values(TOOL_PROFILES).flat()) assert.ok(later.includes(entry) || tools.has(entry) || groups.has(entry), entry);
});
