import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closest } from './similar-names.ts';

const NAMES = ['start', 'ask', 'rpc', 'token', 'status', 'doctor', 'session.list', 'session.delete'];

test('what is one slip away is found, nearest first', () => {
  assert.deepEqual(closest('tokne', NAMES), ['token']);
  assert.deepEqual(closest('STAUTS', NAMES), ['status', 'start']);
  assert.deepEqual(closest('sessions.list', NAMES), ['session.list']);
});

test('what is far from everything is not guessed', () => {
  assert.deepEqual(closest('deploy', NAMES), []);
  assert.deepEqual(closest('', NAMES), []);
});
