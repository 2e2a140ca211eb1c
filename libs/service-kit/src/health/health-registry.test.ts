import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealthRegistry } from './health-registry.ts';

test('is ready until a dependency reports an outage, and again after it recovers', () => {
  let now = 1;
  const health = createHealthRegistry(() => now);
  assert.deepEqual(health.readiness(), { ready: true, status: 'ready', dependencies: {} });
  health.set('store', true);
  now = 2;
  health.set('store', false, 'connection refused');
  now = 3;
  health.set('store', false, 'connection refused');
  assert.deepEqual(health.readiness(), {
    ready: false,
    status: 'unavailable',
    dependencies: { store: { ready: false, reason: 'connection refused', since: 2 } },
  });
  now = 4;
  health.set('store', true);
  assert.deepEqual(health.readiness().dependencies['store'], { ready: true, since: 4 });
});

test('services in one process report under their own names and read the whole readiness', () => {
  const health = createHealthRegistry();
  health.reporter('sessions').set('models', true);
  const registry = health.reporter('registry');
  registry.set('models', false, 'no key');
  assert.deepEqual(Object.keys(registry.readiness().dependencies), ['sessions.models', 'registry.models']);
  assert.equal(registry.readiness().ready, false);
});

test('lists the outage of an optional dependency and stays ready', () => {
  const health = createHealthRegistry(() => 1);
  health.reporter('browser').setOptional('chromium', 'not installed');
  const outage = { ready: false, reason: 'not installed', since: 1 };
  assert.deepEqual(health.readiness(), { ready: true, status: 'ready', dependencies: { 'browser.chromium': outage } });
  health.reporter('browser').setOptional('chromium', undefined);
  assert.equal(health.readiness().dependencies['browser.chromium']?.ready, true);
});

test('polls a probe on each read', () => {
  const health = createHealthRegistry();
  let connected = false;
  health.probe('bus', () => (connected ? undefined : 'not connected'));
  assert.equal(health.readiness().dependencies['bus']?.reason, 'not connected');
  connected = true;
  assert.equal(health.readiness().ready, true);
});

test('a draining process is not ready', () => {
  const health = createHealthRegistry();
  health.set('store', true);
  health.drain();
  assert.deepEqual([health.readiness().ready, health.readiness().status], [false, 'draining']);
});
