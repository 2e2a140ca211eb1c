import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, type OfferedTool } from '@switchyard/contracts';
import { listDeclaredTools } from './tool-catalog.ts';
import { selectTools } from './tool-selection.ts';

test('selectTools offers tools that the agent, the order and each list allow', () => {
  const config = AgentConfig.parse({ skills: { toolPolicy: { profile: 'full', deny: ['session_history'] } } });
  const select = (within: string[][]) => {
    const options = { scopes: ['*'], counted: false, earlier: false, kept: true, parks: true, offered: undefined } as const;
    const { byName } = selectTools(config, { ...options, narrowing: { deny: ['session_search'], within } });
    return [...byName.keys()].toSorted();
  };
  assert.deepEqual(
    select([
      ['group:sessions', 'ask_user'],
      ['session_status', 'session_history', 'session_search', 'ask_user'],
    ]),
    ['ask_user', 'ctx_result', 'session_status'],
  );
  assert.deepEqual(select([['ask_user'], []]), ['ctx_result']);
  assert.ok(select([['*']]).length > 20);
});

test('a model sees the first skills without discover, unless the agent defers them', () => {
  const offered = ['a', 'b', 'c', 'd'].map((name): OfferedTool => {
    const tool = { name: `skill__${name}`, provider: name, description: name.repeat(1_500), parameters: { type: 'object' } };
    return { ...tool, group: 'skills', readOnly: true, idempotent: true, effect: 'read' };
  });
  const select = (config: object) => {
    const options = { scopes: ['*'], counted: false, earlier: false, kept: false, parks: false, narrowing: undefined, offered } as const;
    // With every declared tool the schemas do not fit, so that other skills are deferred.
    const { visible } = selectTools(AgentConfig.parse(config), { ...options, declared: listDeclaredTools() });
    return visible.map(({ name }) => name).filter((name) => name.startsWith('skill__'));
  };
  assert.deepEqual(select({}), ['skill__a', 'skill__b', 'skill__c']);
  assert.deepEqual(select({ skills: { promptSkills: { maxAutoInject: 1 } } }), ['skill__a']);
  assert.deepEqual(select({ skills: { promptSkills: { maxAutoInject: 0 } } }), []);
  assert.deepEqual(select({ deferredTools: { alwaysDefer: ['group:skills'] } }), []);
});
