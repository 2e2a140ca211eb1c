import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealthBoard } from './health.ts';

test('ready until something says otherwise, and again once it clears it', () => {
  let now = 1;
  const board = createHealthBoard(() => now);
  assert.deepEqual(board.readiness(), { ready: true, status: 'ready', dependencies: {} });
  board.set('store', true);
  now = 2;
  board.set('store', false, 'connection refused');
  now = 3;
  board.set('store', false, 'connection refused');
  assert.deepEqual(board.readiness(), {
    ready: false,
    status: 'unavailable',
    dependencies: { store: { ready: false, reason: 'connection refused', since: 2 } },
  });
  now = 4;
  board.set('store', true);
  assert.deepEqual(board.readiness().dependencies['store'], { ready: true, since: 4 });
});

test('services in one process report under their own names, and see the whole', () => {
  const board = createHealthBoard();
  board.reporter('sessions').set('models', true);
  const registry = board.reporter('registry');
  registry.set('models', false, 'no key');
  assert.deepEqual(Object.keys(registry.readiness().dependencies), ['sessions.models', 'registry.models']);
  assert.equal(registry.readiness().ready, false);
});

test('a probe is asked each time', () => {
  const board = createHealthBoard();
  let connected = false;
  board.probe('bus', () => connected);
  assert.equal(board.readiness().dependencies['bus']?.reason, 'not connected');
  connected = true;
  assert.equal(board.readiness().ready, true);
});

test('a draining process is not ready, whatever its dependencies say', () => {
  const board = createHealthBoard();
  board.set('store', true);
  board.drain();
  assert.deepEqual([board.readiness().ready, board.readiness().status], [false, 'draining']);
});
