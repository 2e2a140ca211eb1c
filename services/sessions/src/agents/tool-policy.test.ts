import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
import { allows } from './tool-policy.ts';

function policy(toolPolicy: object): (method: string) => boolean {
  const { skills } = AgentConfig.parse({ skills: { toolPolicy } });
  return (method) => allows(skills.toolPolicy, method);
}

test('profile full allows everything except methods denied by method, tool or group', () => {
  const may = policy({ deny: ['memory.store', 'session_history', 'group:browser'] });
  for (const method of ['memory.search', 'session.status', 'workspace.readFile']) assert.ok(may(method), method);
  for (const method of ['memory.store', 'session.history', 'browser.act', 'browser.open']) assert.ok(!may(method), method);
});

test('a profile allows its own methods and the allow list; deny wins over both', () => {
  const minimal = policy({ profile: 'minimal' });
  assert.deepEqual([minimal('workspace.readFile'), minimal('workspace.listDir'), minimal('session.status')], [true, false, false]);
  const coding = policy({ profile: 'coding', allow: ['group:memory', 'session.status'], deny: ['workspace.git.log', 'memory_search'] });
  const had = ['workspace.readFile', 'workspace.git.status', 'memory.inspect', 'session.status'];
  for (const method of had) assert.ok(coding(method), method);
  for (const method of ['workspace.git.log', 'memory.search', 'session.history', 'cron.add']) assert.ok(!coding(method), method);
  const messaging = policy({ profile: 'messaging' });
  assert.deepEqual([messaging('message.send'), messaging('session.status'), messaging('session.history')], [true, true, false]);
  const supervisor = policy({ profile: 'supervisor' });
  assert.deepEqual([supervisor('channels.health'), supervisor('memory.search')], [true, false]);
});

test('unknown groups and partial names match nothing', () => {
  const may = policy({ profile: 'minimal', allow: ['group:everything', 'group:constructor', 'session', 'session.'] });
  assert.ok(!may('session.status'));
});
