import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { openKeys } from './keys.ts';

test('openKeys generates a password per name once and stores it with mode 0600', async () => {
  await using dir = await tempDir();
  const keys = `${dir.path}/keys`;
  const [one, other] = [openKeys(keys)('nats-gateway'), openKeys(keys)('redis')];
  assert.match(one, /^k[\da-f]{64}$/);
  assert.notEqual(one, other);
  assert.equal(openKeys(keys)('nats-gateway'), one);
  assert.equal(statSync(keys).mode & 0o777, 0o700);
  assert.equal(statSync(`${keys}/redis`).mode & 0o777, 0o600);
});
