import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { openBox } from '@switchyard/security';
import { openingOf } from './secrets-sealing-key.ts';

test('what does not open where nothing may be written says why nothing may; what is sealed opens for a minute', () => {
  const box = openBox();
  const clock = { now: () => 1_000_000 };
  const closed = openingOf({
    values: {
      box,
      writable: () => {
        throw new ServiceError('FAILED_PRECONDITION', 'there is no master key');
      },
    },
    store: clock,
  });
  assert.throws(() => closed.box.unseal('sealed to another replica', []), { code: 'FAILED_PRECONDITION' });
  const open = openingOf({ values: { box, writable: () => assert.fail() }, store: clock });
  const text = openBox().seal(box.key, Buffer.from('x'), ['here']) ?? assert.fail();
  assert.equal(Buffer.from(open.box.unseal(text, ['here']) ?? []).toString(), 'x');
  assert.deepEqual([1_000_000, 940_000, 939_999, 1_060_000, 1_060_001].map(open.isFresh), [true, true, false, true, false]);
});
