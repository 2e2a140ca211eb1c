import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNREAD_SETTINGS } from '../config/unread-settings.ts';
import { isUnread, listUnusedSettings } from './unused-settings.ts';

test('isUnread includes paths below an unread key and excludes its siblings', () => {
  assert.ok(UNREAD_SETTINGS.includes('autoReplyEngine') && UNREAD_SETTINGS.includes('agents.*.notification'));
  for (const path of ['autoReplyEngine.enabled', 'agents.oslo.notification', 'agents.oslo.notification.maxPerHour'])
    assert.equal(isUnread(path), true, path);
  for (const path of ['gateway.port', 'agents', 'agents.oslo', 'agents.oslo.notifications', 'autoReplyEngines', 'memory'])
    assert.equal(isUnread(path), false, path);
});

test('listUnusedSettings names set leaves, and the list items that contain them', () => {
  assert.deepEqual(listUnusedSettings({ autoReplyEngine: { enabled: false, customPatterns: ['x'] }, gateway: { port: 1 }, tts: {} }), [
    'autoReplyEngine.enabled',
    'autoReplyEngine.customPatterns',
  ]);
  assert.deepEqual(listUnusedSettings({ mappings: [{ id: 'x' }, { id: 'y', to: '42' }] }, 'webhooks'), ['webhooks.mappings.1.to']);
  for (const value of [undefined, null, 'text', {}, [], JSON.parse('{"__proto__": {"memory": {}}}')])
    assert.deepEqual(listUnusedSettings(value), []);
});

test('listUnusedSettings names unserved webhook actions only', () => {
  const mapping = {
    id: 'm',
    model: 'dev/echo',
    timeoutSeconds: 60,
    messageTemplate: 'x',
    deliver: true,
    wakeMode: 'now',
    textTemplate: 'x',
  };
  const later = { channel: 'telegram', to: '42' };
  assert.deepEqual(
    listUnusedSettings({ mappings: [mapping, { ...mapping, ...later }] }, 'webhooks'),
    Object.keys(later).map((name) => `webhooks.mappings.1.${name}`),
  );
});
