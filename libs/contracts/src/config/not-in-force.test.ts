import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNREAD_SETTINGS } from './burn-down.ts';
import { isUnread, notInForce } from './not-in-force.ts';

test('what stands below an unread key is unread too, what stands beside it is not', () => {
  assert.ok(UNREAD_SETTINGS.includes('memory') && UNREAD_SETTINGS.includes('agents.*.sep'));
  for (const path of ['memory', 'memory.walMode', 'agents.oslo.sep', 'agents.oslo.sep.maxSteps']) assert.equal(isUnread(path), true, path);
  for (const path of ['gateway.port', 'agents', 'agents.oslo', 'agents.oslo.separate', 'memoryless'])
    assert.equal(isUnread(path), false, path);
});

test('of a part of the configuration the written leaves are named; in a list, the items that have them', () => {
  assert.deepEqual(notInForce({ memory: { walMode: false, retention: { maxAgeDays: 1 } }, gateway: { port: 1 }, tts: {} }), [
    'memory.walMode',
    'memory.retention.maxAgeDays',
  ]);
  assert.deepEqual(
    notInForce({ entries: { a: { models: [{ id: 'x' }, { id: 'y', compat: { nativeWebSearchTool: true } }] } } }, 'providers'),
    ['providers.entries.a.models.1.compat.nativeWebSearchTool'],
  );
  for (const value of [undefined, null, 'text', {}, [], JSON.parse('{"__proto__": {"memory": {}}}')])
    assert.deepEqual(notInForce(value), []);
});
