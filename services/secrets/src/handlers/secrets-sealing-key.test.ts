import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { createDecryptionKey, encryptTo } from '@switchyard/security';
import { createParamsDecryption } from './secrets-sealing-key.ts';

test('params decryption reports a missing master key, and accepts keys for one minute', async () => {
  const paramsKey = createDecryptionKey();
  const store = { now: () => 1_000_000 };
  const readOnly = createParamsDecryption({
    values: {
      paramsKey,
      getWritableStorage: () => {
        throw new ServiceError('FAILED_PRECONDITION', 'there is no master key');
      },
    },
    store,
  });
  await assert.rejects(readOnly.key.decrypt('encrypted to another replica', {}), { code: 'FAILED_PRECONDITION' });
  const decryption = createParamsDecryption({ values: { paramsKey, getWritableStorage: () => assert.fail() }, store });
  const jwe = (await encryptTo(paramsKey.publicKey, Buffer.from('x'), { method: 'env.set' })) ?? assert.fail();
  assert.equal(Buffer.from((await decryption.key.decrypt(jwe, { method: 'env.set' })) ?? []).toString(), 'x');
  assert.deepEqual([1_000_000, 940_000, 939_999, 1_060_000, 1_060_001].map(decryption.isFresh), [true, true, false, true, false]);
});
