import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { createKeyCache } from './key-cache.ts';

test('caches keys for ttlMs, absent keys briefly and failures not at all', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  const requests: string[] = [];
  let stored: Record<string, string> = { KEPT: 'k' };
  const keys = createKeyCache({
    env: { FROM_ENV: 'e', MY_OAUTH_TOKEN: 'not here' },
    ttlMs: 30_000,
    secret: async (name) => {
      requests.push(name);
      if (name === 'DOWN' && requests.filter((one) => one === 'DOWN').length === 1) throw new Error('down');
      return stored[name] ?? null;
    },
  });

  const get = (keyName: string | undefined) => keys.get({ keyName, keyOrigin: undefined });
  assert.equal(await get('KEPT'), 'k');
  assert.equal(await get('LATER'), undefined);
  assert.equal(await get('FROM_ENV'), 'e');
  assert.equal(await get('MY_OAUTH_TOKEN'), undefined);
  assert.equal(await get(undefined), undefined);
  await assert.rejects(get('DOWN'), /down/);
  assert.equal(await get('DOWN'), undefined);

  stored = { KEPT: 'new', LATER: 'l' };
  t.mock.timers.setTime(3_000);
  assert.equal(await get('LATER'), 'l');
  assert.equal(await get('KEPT'), 'k');
  t.mock.timers.setTime(31_000);
  assert.equal(await get('KEPT'), 'new');
});

test('caches keys per origin and invalidates them for all origins', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  const asked: string[] = [];
  const home = 'https://home.example';
  const secret = async (name: string, origin = '') => {
    asked.push(`${name} ${origin}`);
    if (origin === home) return 'k';
    throw new ServiceError('PERMISSION_DENIED', 'it belongs elsewhere', { details: { reason: 'KEY_ORIGIN' } });
  };
  const keys = createKeyCache({ env: { K: 'of the environment' }, ttlMs: 30_000, secret });
  const here = { keyName: 'K', keyOrigin: home };
  const there = { keyName: 'K', keyOrigin: 'https://elsewhere.example' };
  assert.equal(await keys.get(here), 'k');
  for (let n = 0; n < 3; n++) await assert.rejects(keys.get(there), /elsewhere/, 'and what the environment says is no way around it');
  assert.deepEqual([asked.length, keys.cachedUntil([here]), keys.cachedUntil([there])], [2, 30_000, 2_000]);
  t.mock.timers.setTime(3_000);
  await assert.rejects(keys.get(there), /elsewhere/);
  keys.invalidate('K');
  assert.equal(keys.cachedUntil([here]), 0);
});
