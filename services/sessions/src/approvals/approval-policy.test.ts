import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections, type ConfigurationPatch, type ToolEffect } from '@switchyard/contracts';
import { decideGate, type Gate, type TrustLevel } from './approval-policy.ts';

interface Case {
  approvals?: ConfigurationPatch['approvals'];
  confirmation?: object;
  effect: ToolEffect;
  trustLevel?: TrustLevel;
  isTainted?: boolean;
}

function gate({ approvals = {}, confirmation = {}, effect, trustLevel = 'user', isTainted = false }: Case): Gate {
  const settings = {
    approvals: sections.approvals.parse(approvals),
    confirmation: sections.security.parse({ actionConfirmation: confirmation }).actionConfirmation,
  };
  return decideGate(settings, { toolName: 'cron_remove', action: 'cron.remove', effect, trustLevel, isTainted }).gate;
}

const on = { enabled: true };
const both = { requireForSensitive: true, requireForDestructive: true };
const neither = { requireForSensitive: false, requireForDestructive: false };
const rule = (mode: 'auto' | 'require' | 'deny', rest: object = {}) => ({ rules: [{ actionPattern: 'cron.*', mode, ...rest }] });
const EFFECTS = ['read', 'mutate', 'destructive'] as const;

test('decides by enabled, defaultMode and requireFor', () => {
  const row = (options: Omit<Case, 'effect'>): Gate[] => EFFECTS.map((effect) => gate({ ...options, effect }));
  assert.deepEqual(row({}), ['run', 'run', 'confirm']);
  assert.deepEqual(row({ confirmation: both }), ['run', 'run', 'confirm']);
  assert.deepEqual(row({ confirmation: neither }), ['run', 'run', 'run']);
  assert.deepEqual(row({ approvals: on }), ['run', 'run', 'wait']);
  assert.deepEqual(row({ approvals: on, confirmation: both }), ['run', 'wait', 'wait']);
  assert.deepEqual(row({ approvals: on, confirmation: neither }), ['run', 'run', 'run']);
  assert.deepEqual(row({ approvals: { ...on, defaultMode: 'auto' }, confirmation: both }), ['run', 'run', 'wait']);
  assert.deepEqual(row({ approvals: { ...on, defaultMode: 'deny' }, confirmation: both }), ['run', 'deny', 'deny']);
  assert.deepEqual(row({ approvals: { ...on, defaultMode: 'deny' }, confirmation: neither }), ['run', 'run', 'run']);
});

test('rules outrank effects, and deny cannot be lifted', () => {
  const row = (approvals: object, confirmation: object = {}): Gate[] => EFFECTS.map((effect) => gate({ approvals, confirmation, effect }));
  assert.deepEqual(row({ ...on, ...rule('require') }), ['wait', 'wait', 'wait']);
  assert.deepEqual(row(rule('require')), ['confirm', 'confirm', 'confirm']);
  assert.deepEqual(row({ ...on, ...rule('auto') }, both), ['run', 'run', 'run']);
  assert.deepEqual(row({ ...on, ...rule('deny') }, { ...neither, autoApprove: ['*'] }), ['deny', 'deny', 'deny']);
  assert.deepEqual(row(on, { ...both, autoApprove: ['cron_*'] }), ['run', 'run', 'run']);
  assert.deepEqual(row({ ...on, rules: [...rule('auto').rules, ...rule('deny').rules] }), ['run', 'run', 'run']);
});

test('a rule lifts nothing below its minimum trust level', () => {
  const approvals = { ...on, ...rule('auto', { minTrustLevel: 'admin' }) };
  const levels = ['guest', 'user', 'admin'] as const;
  assert.deepEqual(
    levels.map((trustLevel) => gate({ approvals, effect: 'destructive', trustLevel })),
    ['wait', 'wait', 'run'],
  );
});

test('a tainted turn needs a person for destructive calls, whatever lifts the gate', () => {
  const row = (approvals: object, confirmation: object = {}): Gate[] =>
    EFFECTS.map((effect) => gate({ approvals, confirmation, effect, trustLevel: 'admin', isTainted: true }));
  assert.deepEqual(row({}), ['run', 'run', 'tainted']);
  assert.deepEqual(row({}, { ...neither, autoApprove: ['*'] }), ['run', 'run', 'tainted']);
  assert.deepEqual(row({ ...on, ...rule('auto') }, { autoApprove: ['*'] }), ['run', 'run', 'wait']);
  assert.deepEqual(row({ ...on, defaultMode: 'deny' }), ['run', 'run', 'deny']);
  assert.deepEqual(row({ ...on, ...rule('deny') }), ['deny', 'deny', 'deny']);
  assert.deepEqual(row({ ...on, ...rule('auto') }, { requireWhenTainted: false }), ['run', 'run', 'run']);
});

test('patterns match the action or the tool name; * stands for any text', () => {
  const matches = (actionPattern: string) => gate({ approvals: { rules: [{ actionPattern, mode: 'deny' }] }, effect: 'read' }) === 'deny';
  for (const pattern of ['*', 'cron.*', '*.remove', 'c*n.r*e', 'cron.remove', 'cron_remove', 'cron*']) assert.ok(matches(pattern), pattern);
  for (const pattern of ['cron', 'cron.removed', '*x*', 'cron.remove*e', 'CRON.*', 'cron?remove']) assert.ok(!matches(pattern), pattern);
});
