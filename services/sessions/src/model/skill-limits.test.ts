import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX } from '@switchyard/contracts';
import { addSkillLimit, getSkillLimit, limitTools, readSkillLimit } from './skill-limits.ts';

const skill = { group: 'skills', name: 'skill__a' } as const;

test('readSkillLimit reads the list of a valid result of a skill only', () => {
  const result = { skill: 'a', instructions: 'Do it.', allowedTools: ['read'] };
  assert.deepEqual(readSkillLimit(skill, result), ['read']);
  assert.deepEqual(readSkillLimit(skill, { ...result, allowedTools: [] }), []);
  assert.equal(readSkillLimit({ group: 'mcp', name: 'mcp__a--b' }, result), undefined);
  for (const other of [null, 'text', {}, { ...result, allowedTools: 'read' }, { ...result, allowedTools: [1] }, { allowedTools: ['read'] }])
    assert.equal(readSkillLimit(skill, other), undefined, JSON.stringify(other));
});

test('getSkillLimit adds the tool of a skill with files, within the bounds of a list', () => {
  const base = { skill: 'a', instructions: 'Do it.', files: ['a.md'] };
  assert.equal(getSkillLimit(base, 'skill__a'), undefined);
  assert.deepEqual(getSkillLimit({ ...base, allowedTools: ['read'] }, 'skill__a'), ['read', 'skill__a']);
  assert.deepEqual(getSkillLimit({ ...base, allowedTools: ['skill__a'] }, 'skill__a'), ['skill__a']);
  const full = Array.from({ length: MAX.few }, (_, at) => `tool_${at}`);
  assert.deepEqual(getSkillLimit({ ...base, allowedTools: full }, 'skill__a'), full);
});

test('addSkillLimit returns the same limits for no list and for a known one', () => {
  const limits = [['read']];
  assert.equal(addSkillLimit(limits, undefined), limits);
  assert.equal(addSkillLimit(limits, ['read']), limits);
  assert.deepEqual(addSkillLimit(limits, ['write']), [['read'], ['write']]);
});

test('limitTools keeps the narrowing of the order and changes nothing without limits', () => {
  assert.equal(limitTools(undefined, []), undefined);
  const tools = { deny: ['exec'], within: [['read']] };
  assert.equal(limitTools(tools, []), tools);
  assert.deepEqual(limitTools(tools, [['read'], ['write']]), { deny: ['exec'], within: [['read'], ['write']] });
});
