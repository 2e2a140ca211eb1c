import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeys } from './keys.ts';

test('a key is kept for its time, an absent one is asked for again soon, a failure at once', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  const asked: string[] = [];
  let stored: Record<string, string> = { KEPT: 'k' };
  const keys = createKeys({
    env: { FROM_ENV: 'e' },
    ttlMs: 30_000,
    secret: async (name) => {
      asked.push(name);
      if (name === 'DOWN' && asked.filter((one) => one === 'DOWN').length === 1) throw new Error('down');
      return stored[name] ?? null;
    },
  });

  assert.equal(await keys.get('KEPT'), 'k');
  assert.equal(await keys.get('LATER'), undefined);
  assert.equal(await keys.get('FROM_ENV'), 'e');
  assert.equal(await keys.get(undefined), undefined);
  await assert.rejects(keys.get('DOWN'), /down/);
  assert.equal(await keys.get('DOWN'), undefined);

  stored = { KEPT: 'new', LATER: 'l' };
  t.mock.timers.setTime(3_000);
  assert.equal(await keys.get('LATER'), 'l');
  assert.equal(await keys.get('KEPT'), 'k');
  t.mock.timers.setTime(31_000);
  assert.equal(await keys.get('KEPT'), 'new');
});
