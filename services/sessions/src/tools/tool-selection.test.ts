import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
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
