import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
import { configMethods } from './config.ts';

test('an empty configuration is never applied, and the refusal says how to go back', () => {
  const { params } = configMethods['config.apply'];
  assert.throws(() => parseParams(params, {}), {
    code: 'INVALID_ARGUMENT',
    message: 'Invalid params: params: expected at least one section; config.rollback goes back to an earlier version, got an empty object',
  });
  assert.deepEqual(parseParams(params, { logLevel: 'debug' }), { logLevel: 'debug' });
});
