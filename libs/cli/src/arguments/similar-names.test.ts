import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closest } from './similar-names.ts';

const NAMES = ['start', 'ask', 'rpc', 'token', 'status', 'doctor', 'session.list', 'session.delete'];

test('finds names within a small edit distance, nearest first', () => {
  assert.deepEqual(closest('tokne', NAMES), ['token']);
  assert.deepEqual(closest('STAUTS', NAMES), ['status', 'start']);
  assert.deepEqual(closest('sessions.list', NAMES), ['session.list']);
});

test('returns nothing for distant words', () => {
  assert.deepEqual(closest('deploy', NAMES), []);
  assert.deepEqual(closest('', NAMES), []);
});
