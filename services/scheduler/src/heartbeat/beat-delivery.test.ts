import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { findSuppression, rememberText, type DeliveryDecisionOptions } from './beat-delivery.ts';
import { readReply } from './heartbeat-reply.ts';

const { heartbeat, quietHours } = sections.scheduler.parse({});
const target = { channelType: 'telegram', channelId: 'telegram', chatId: '678' };
const NIGHT = Date.parse('2026-01-15T23:00Z');
const DAY_MS = 86_400_000;
const night = { ...quietHours, enabled: true, timezone: 'UTC' };

function decide(reply: string, change: Partial<DeliveryDecisionOptions> = {}, settings: object = {}): string | undefined {
  const options = { reply: readReply(reply), settings: { ...heartbeat, target, ...settings }, quietHours, sent: [], now: NIGHT };
  return findSuppression({ ...options, ...change });
}

test('a reply with the token is delivered with showOk only', () => {
  assert.equal(decide('HEARTBEAT_OK'), 'heartbeat_ok');
  assert.equal(decide('HEARTBEAT_OK', {}, { showOk: true }), undefined);
  assert.equal(decide('HEARTBEAT_OK', {}, { showOk: true, skipHeartbeatOnlyDelivery: true }), 'heartbeat_ok');
});

test('alerts are hidden without showAlerts, and an empty reply is not delivered', () => {
  assert.equal(decide('The disk is full.'), undefined);
  assert.equal(decide('The disk is full.', {}, { showAlerts: false }), 'alerts_hidden');
  assert.equal(decide(' '), 'empty');
});

test('a direct message needs allowDm', () => {
  const dm = { target: { ...target, isDm: true } };
  assert.equal(decide('The disk is full.', {}, dm), 'dm_not_allowed');
  assert.equal(decide('The disk is full.', {}, { ...dm, allowDm: true }), undefined);
});

test('the same text is delivered once a day', () => {
  const sent = rememberText([], 'The disk is full.', NIGHT - DAY_MS + 1);
  assert.equal(decide('The disk is full.', { sent }), 'duplicate');
  assert.equal(decide('The disk is empty.', { sent }), undefined);
  assert.equal(decide('The disk is full.', { sent, now: NIGHT + 1 }), undefined);
  const many = Array.from({ length: 600 }, (_, index) => `text ${index}`).reduce((all, text) => rememberText(all, text, NIGHT), sent);
  assert.equal(many.length, 500);
});

test('quiet hours hold back all but critical replies', () => {
  assert.equal(decide('The disk is full.', { quietHours: night }), 'quiet_hours');
  assert.equal(decide('CRITICAL: the disk is full.', { quietHours: night }), undefined);
  assert.equal(decide('CRITICAL: the disk is full.', { quietHours: { ...night, criticalBypass: false } }), 'quiet_hours');
});

test('a reply with a media line is always delivered', () => {
  assert.equal(decide('HEARTBEAT_OK\nMEDIA: chart.png', { quietHours: night }), undefined);
});
