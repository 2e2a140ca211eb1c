import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { insertIfAbsent } from './insert-if-absent.ts';

test('insertIfAbsent returns whether it inserted and throws other errors', async () => {
  const failing = (code: 'ALREADY_EXISTS' | 'UNAVAILABLE') => () => Promise.reject(new ServiceError(code, 'x'));
  assert.equal(await insertIfAbsent(() => Promise.resolve()), true);
  assert.equal(await insertIfAbsent(failing('ALREADY_EXISTS')), false);
  await assert.rejects(insertIfAbsent(failing('UNAVAILABLE')), { code: 'UNAVAILABLE' });
});
