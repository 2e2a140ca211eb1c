import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
import { browserMethods } from './browser.ts';

test('how long a snapshot may be is left to the setting where the call does not say', () => {
  const { params } = browserMethods['browser.snapshot'];
  assert.deepEqual(parseParams(params, {}), {});
  assert.deepEqual(parseParams(params, { maxChars: 500 }), { maxChars: 500 });
});
